package measure

import (
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// One line a case: where such names come from, the name as it is recorded, as it is kept ("=": unchanged), the short
// name, and the stem ("=": the short name).
func TestNamesByKind(t *testing.T) {
	const hash = "0123456789abcdef"
	for _, c := range []struct{ kind, raw, name, short, stem string }{
		// Taken out: it changes although the source of the kernel does not.
		{"nvcc, anonymous", "void _GLOBAL__N__d8ceb000_21_reduce_cu_1a2b3c4d::f<int>(int)",
			"void (anonymous namespace)::f<int>(int)", "f", "="},
		{"nvcc, anonymous, pid", "_ZN44_GLOBAL__N__b1108092_6_Pow_cu_751192d7_213961fEv", "(anonymous namespace)::f()",
			"f", "="},
		{"nvcc before 11, tmpxft",
			"void g<int=4, _GLOBAL__N__58_tmpxft_00003916_00000000_9_add_weighted_cpp1_ii_71482d89::Op<int>>(T2)",
			"void g<int=4, (anonymous namespace)::Op<int>>(T2)", "g", "="},
		{"nvcc, entry point as id", "_GLOBAL__N__6d7068ed_16_cg_sass_check_cu_cg_red::f()",
			"(anonymous namespace)::f()", "f", "="},
		{"nvrtc",
			"_GLOBAL__N__00000000_37___tmp_kernel_pointwise_f0_c1_r0_g0_cu_8995cef2_3255329::nvfuser_pointwise_f0_c1_r0_g0(_GLOBAL__N__00000000_37___tmp_kernel_pointwise_f0_c1_r0_g0_cu_8995cef2_3255329::Tensor<float>)", "(anonymous namespace)::nvfuser_pointwise_f0_c1_r0_g0((anonymous namespace)::Tensor<float>)", "nvfuser_pointwise_f0_c1_r0_g0", "nvfuser_pointwise"},
		{"gcc, anonymous", "_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()", "f", "="},
		{"nsys, anonymous", "void a::<unnamed>::f<a::<unnamed>::X>(T1)",
			"void a::(anonymous namespace)::f<a::(anonymous namespace)::X>(T1)", "f", "="},
		{"gcc's pretty names", "void {anonymous}::f(int)", "void (anonymous namespace)::f(int)", "f", "="},
		{"cudafe", "void _NV_ANON_NAMESPACE::f(int)", "void (anonymous namespace)::f(int)", "f", "="},
		{"MSVC", "void a::`anonymous namespace'::f(int)", "void a::(anonymous namespace)::f(int)", "f", "="},
		{"nvcc -rdc, static", "__nv_static_42__d8ceb000_27_the_name_of_the_file_cu_cpp_e3c0ffee__Z1gPf", "=",
			"__nv_static_42__d8ceb000_27_the_name_of_the_file_cu_cpp_e3c0ffee__Z1gPf", "="},
		{"nvcc -rdc, static", "__nv_static_31__d8ceb000_7_file_cu_e3c0ffee_47__Z1gPf", "g(float*)", "g", "="},
		{"nvcc -rdc, static, extern C", "__nv_static_27__14_coords_cpp1_ii_7126c51d_update", "update", "update", "="},
		{"nvcc -rdc, Kokkos",
			"__nv_static_59__46_tmpxft_0001a605_00000000_6_cabana_code_cpp1_ii_a54055bf__ZN6Kokkos4Impl6launchIiEEvT_",
			"void Kokkos::Impl::launch<int>(int)", "launch", "="},
		{"nvcc -rdc, namespace", "_ZN43_INTERNAL_e301b184_12_transpose_cu_1e3911aa1f1gEv", "f::g()", "g", "="},
		{"nvcc -rdc, anonymous",
			"_INTERNAL_e301b184_12_transpose_cu_1e3911aa::_GLOBAL__N__e301b184_12_transpose_cu_1e3911aa::f(int)",
			"(anonymous namespace)::f(int)", "f", "="},
		{"CUB", "void cub::CUB_200802_SM_900::DeviceReduceKernel<cub::CUB_200802_SM_900::Policy<int>>(T1)",
			"void cub::DeviceReduceKernel<cub::Policy<int>>(T1)", "DeviceReduceKernel", "="},
		{"CUB, list of architectures", "void at_cuda_detail::cub::CUB_101702_750_860_NS::DeviceScanKernel<int>(T1)",
			"void at_cuda_detail::cub::DeviceScanKernel<int>(T1)", "DeviceScanKernel", "="},
		{"Thrust", "void thrust::THRUST_200700_900_NS::cuda_cub::core::_kernel_agent<int>(T1)",
			"void thrust::cuda_cub::core::_kernel_agent<int>(T1)", "_kernel_agent", "="},
		{"Thrust, list unset", "thrust::THRUST_200301___CUDA_ARCH_LIST___NS::f()", "thrust::f()", "f", "="},
		{"libcu++", "void f<cuda::std::__4::plus<int>, cuda::std::ranges::__4::less>(T1)",
			"void f<cuda::std::plus<int>, cuda::std::ranges::less>(T1)", "f", "="},
		{"libc++", "void f<std::__1::tuple<int>>(T1)", "void f<std::tuple<int>>(T1)", "f", "="},
		{"Numba", "cudapy::__main__::f[abi:v1,cw51cXTLSUwv1sCUt9Uw_3d](Array<float, (int)1, C, mutable, aligned>)",
			"cudapy::__main__::f(Array<float, (int)1, C, mutable, aligned>)", "f", "="},
		{"Numba, ncu",
			"f[v1,cw51cXTLSUwv1sDUaKthqaNgoKmjgOR3gtEUAA_3d_3d](Array<double, 1, C, mutable, aligned>, double)",
			"f(Array<double, 1, C, mutable, aligned>, double)", "f", "="},
		{"Numba, ncu, without flags", "f[v1](int)", "f(int)", "f", "="},
		{"Numba, mangled", "_ZN6cudapy8__main__1fB3v12B8cw51cXTLE5ArrayIfLi1E1C7mutable7alignedE",
			"cudapy::__main__::f(Array<float, 1, C, mutable, aligned>)", "f", "="},
		{"Numba before 0.56", "cudapy::__main__::fast_matmul$241(Array<double, int=2, C, mutable, aligned>)",
			"cudapy::__main__::fast_matmul(Array<double, int=2, C, mutable, aligned>)", "fast_matmul", "="},
		{"Julia", "julia_broadcast_kernel_30615", "julia_broadcast_kernel_#", "julia_broadcast_kernel_#", "="},
		{"Julia, signature", "julia_step_2_4711(CuDeviceArray<Float32, 1, 1>)",
			"julia_step_2_#(CuDeviceArray<Float32, 1, 1>)", "julia_step_2_#", "="},
		{"clang OpenMP", "__omp_offloading_10303_4e2ec6__Z4main_l21", "__omp_offloading_#_#__Z4main_l21",
			"__omp_offloading_#_#__Z4main_l21", "__omp_offloading_#_#__Z4main"},
		{"clang OpenMP, hexadecimal function", "__omp_offloading_31_18a8104_add_fade_l7",
			"__omp_offloading_#_#_add_fade_l7", "__omp_offloading_#_#_add_fade_l7", "__omp_offloading_#_#_add_fade"},
		{"Rust", "kernels::add::h" + hash, "kernels::add", "add", "="},
		{"Rust, mangled", "_ZN7kernels3add17h" + hash + "E", "kernels::add", "add", "="},
		{"Rust, v0", "_RNvCs1234_7kernels3add", "kernels::add", "add", "="},
		{"ThinLTO", "_Z1fv.llvm.123456789", "f()", "f", "="},
		{"ThinLTO, PTX", "f_$_llvm_$_123456789", "f", "f", "="},
		{"clang, unique names", "_Z1fv.__uniq.123456789", "f()", "f", "="},
		{"clang -fgpu-rdc, static", "_Z1fPf__intern__a1b2c3d4e5f60718", "f(float*)", "f", "="},
		{"clang -fgpu-rdc, static", "_ZL1fPf.static.a1b2c3d4e5f60718", "f(float*)", "f", "="},
		{"Taichi, cached", "update_c78_0_kernel_0_range_forT" + strings.Repeat(hash, 4) + "_7899",
			"update_c78_0_kernel_0_range_for", "update_c78_0_kernel_0_range_for", "update_kernel_0_range_for"},
		{"address of a Python object", "kernel_Gemm_object_at_0x7f3a12bc4d50_f16", "kernel_Gemm_object_at_#_f16",
			"kernel_Gemm_object_at_#_f16", "="},
		{"address of a Python object", "kernel <Gemm object at 0x7f3a12bc4d50>", "kernel <Gemm object at #>", "kernel",
			"="},

		// Kept: it tells kernels of one program apart. The stem goes without what other code moves.
		{"Inductor", "triton_poi_fused_add_0", "=", "triton_poi_fused_add_0", "triton_poi_fused_add"},
		{"Inductor, no name", "triton_red_fused__to_copy_native_layer_norm_12", "=",
			"triton_red_fused__to_copy_native_layer_norm_12", "triton_red_fused__to_copy_native_layer_norm"},
		{"Inductor with hashes", "triton_poi_fused_embedding_1_cemi5yor3uh3muxgzlaoqs5wrpjk7q6xod6dgmymw2y5xd6wk3sk",
			"=", "triton_poi_fused_embedding_1_cemi5yor3uh3muxgzlaoqs5wrpjk7q6xod6dgmymw2y5xd6wk3sk",
			"triton_poi_fused_embedding"},
		{"Triton 2", "matmul_kernel_0d1d2d34567c89c1011c", "=", "matmul_kernel_0d1d2d34567c89c1011c", "matmul_kernel"},
		{"Triton 2, Inductor", "triton__0d1d2de", "=", "triton__0d1d2de", "triton_"},
		{"Triton 3", "_attn_fwd", "=", "_attn_fwd", "="},
		{"XLA", "loop_add_fusion_3", "=", "loop_add_fusion_3", "loop_add_fusion"},
		{"XLA", "fusion.12", "=", "fusion.12", "fusion"},
		{"XLA", "gemm_fusion_dot_general_1", "=", "gemm_fusion_dot_general_1", "gemm_fusion_dot_general"},
		{"TorchScript", "fused__autocast_to__12152488584593855096", "=", "fused__autocast_to__12152488584593855096",
			"fused__autocast_to_"},
		{"Warp", "gemm_6a1c7341_cuda_kernel_forward", "=", "gemm_6a1c7341_cuda_kernel_forward",
			"gemm_cuda_kernel_forward"},
		{"nvc++ OpenMP", "nvkernel_main_F1L88_2", "=", "nvkernel_main_F1L88_2", "nvkernel_main"},
		{"nvc++ OpenACC", "saxpy_12_gpu", "=", "saxpy_12_gpu", "saxpy_gpu"},
		{"TensorRT", "__myl_FcMulAdd_myl0_12", "=", "__myl_FcMulAdd_myl0_12", "__myl_FcMulAdd_myl0"},
		{"IREE", "matmul_dispatch_0", "=", "matmul_dispatch_0", "matmul_dispatch"},
		{"cuDNN",
			"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0",
			"=", "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0", "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0"},
		{"cuBLAS",
			"sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", "=", "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", "="},
		{"cuBLASLt", "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN", "=",
			"nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN", "="},
		{"CUTLASS", "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(T1::Params)", "=",
			"Kernel2", "="},
		{"CUTLASS DSL",
			"kernel_cutlass_kernel___main__TensorOpGemm_object_at__tensorptrf16gmemalign16odiv81i64div8_S_0", "=",
			"kernel_cutlass_kernel___main__TensorOpGemm_object_at__tensorptrf16gmemalign16odiv81i64div8_S_0",
			"kernel_cutlass_kernel___main__TensorOpGemm_object_at__tensorptrf16gmemalign16odiv81i64div8_S"},
		{"CuPy", "cupy_add__float32_float32_float32", "=", "cupy_add__float32_float32_float32", "="},
		{"nsys, lambda", "void f<g(int)::[lambda(int) (instance 1)]>(int, T1)", "=", "f", "="},
		{"Kineto, lambda", "void f<g(int)::{lambda(int)#2}>(int, g(int)::{lambda(int)#2})", "=", "f", "="},
		{"nsys, values", "void f<(int)4, (bool)0, __nv_bfloat16>(T3)", "=", "f", "="},
		{"author's version", "gemm_v2", "=", "gemm_v2", "="},
		{"author's version, C++", "_Z7gemm_v2Pf", "gemm_v2(float*)", "gemm_v2", "="},
		{"author's number, Numba", "cudapy::__main__::f_241[abi:v3](int)", "cudapy::__main__::f_241(int)", "f_241",
			"f"},
		{"author's Julia set", "julia_kernel_2(unsigned char *)", "=", "julia_kernel_2", "julia_kernel"},
		{"author's namespace", "a::_INTERNAL_math::f(int)", "=", "f", "="},
		{"author's name, Rust", "kernels::hash::h0123", "=", "h0123", "="},
		{"Julia, KernelAbstractions", "_Z7gpu_mwe16CompilerMetadataI11DynamicSize12DynamicCheckvE",
			"gpu_mwe(CompilerMetadata<DynamicSize, DynamicCheck, void>)", "gpu_mwe", "="},
		{"SYCL", "_ZTSN3app6KernelILb1EEE", "typeinfo name for app::Kernel<true>", "Kernel", "="},
		{"mangled wrongly", "_ZN2at40_GLOBAL__N__0f1a8107_8_Shape_cu_49f7391c19CatArrayBatchedCopy…", "=",
			"_ZN2at40_GLOBAL__N__0f1a8107_8_Shape_cu_49f7391c19CatArrayBatchedCopy…", "="},

		// Brackets that open nothing.
		{"comparison", "std::enable_if<((int)4 > (int)2), void>::type f<(a < b), int>(T1)", "=", "f", "="},
		{"comparison, Itanium", "void f<(1)>(2), int>(int)", "=", "f", "="},
		{"member of", "decltype(g(x->y)) f<int>(T1)", "=", "f", "="},
		{"member of", "void f<decltype (a->b), int>(T1)", "=", "f", "="},
		{"operator", "void F::operator ()(int) const", "=", "operator()", "="},
		{"operator", "void operator<< <int>(int)", "=", "operator<<", "="},
		{"operator as an argument", "void f<&operator>, int>(int)", "=", "f", "="},
		{"Rust, arguments", "kernels::add::<f32>", "=", "add", "="},
		// Something took "at::native::<" out of these: what closes was never opened.
		{"cut namespace", "void unnamed>::CatArrayBatchedCopy_vectorized<unnamed>::OpaqueType<(unsigned int)8>, " +
			"unsigned int, (int)2, (int)16, (int)8>(char *, unnamed>::CatArrInputTensorMetadata<T1, T2>)",
			"void (anonymous namespace)::CatArrayBatchedCopy_vectorized<(anonymous namespace)::OpaqueType<(unsigned " +
				"int)8>, unsigned int, (int)2, (int)16, (int)8>(char *, (anonymous " +
				"namespace)::CatArrInputTensorMetadata<T1, T2>)", "CatArrayBatchedCopy_vectorized", "="},
		{"cut namespace, in part", "unnamed>::f<<unnamed>::A, unnamed>::B>(<unnamed>::A)",
			"(anonymous namespace)::f<(anonymous namespace)::A, (anonymous namespace)::B>((anonymous namespace)::A)",
			"f", "="},
		{"cut namespace, ncu",
			"void unnamed>::CatArrayBatchedCopy_vectorized<unnamed>::OpaqueType<16>, unsigned int, 1, 128, 1, 16, " +
				"8>(char *)",
			"void (anonymous namespace)::CatArrayBatchedCopy_vectorized<(anonymous namespace)::OpaqueType<16>, " +
				"unsigned int, 1, 128, 1, 16, 8>(char *)", "CatArrayBatchedCopy_vectorized", "="},
		{"cut elsewhere", "void f<A>::B<4>, int, 8>(T1)", "=", "void f<A>::B<4>, int, 8>(T1)", "="},
		{"cut elsewhere", "float>, 4>::run(T1)", "=", "run", "="},
		{"cut at the end", "void a::f<at::B<(unsigned int)8", "=", "f", "="},
		{"clone", "f(int) [clone .constprop.0]", "=", "f", "="},
		{"clone of C", "f [clone .part.1]", "=", "f", "="},
		{"ncu", "enable_if<!T7, void>::type kernel<int, Params<int, B<const T>>>(T13)", "=", "kernel", "="},
		{"no name", "(unnamed kernel)", "=", "(unnamed kernel)", "="},
		{"nothing but numbers", "_12", "=", "_12", "="},
		{"nothing but a tag", "[abi:v1]", "=", "[abi:v1]", "="},
	} {
		if c.name == "=" {
			c.name = c.raw
		}
		if c.stem == "=" {
			c.stem = c.short
		}
		name := NormalizeName(c.raw)
		if name != c.name {
			t.Errorf("%s: %q\n is %q,\nwant %q", c.kind, c.raw, name, c.name)
		}
		if short := ShortName(name); short != c.short {
			t.Errorf("%s: short name of %q is %q, want %q", c.kind, name, short, c.short)
		}
		if stem := StemName(name); stem != c.stem {
			t.Errorf("%s: stem of %q is %q, want %q", c.kind, name, stem, c.stem)
		}
	}
}

// The names of the kernels of H200 recordings, by program and profiler: nsys with its own short name and the mangled
// name, torch.profiler and ncu.
func TestRecordedNames(t *testing.T) {
	f, err := os.Open("testdata/names.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	short := map[[2]string]map[string]bool{} // by program and tool
	apart := map[[2]string]map[string]string{}
	for _, row := range rows[1:] {
		program, tool, own, raw, mangled := row[0], row[1], row[2], row[3], row[4]
		name := NormalizeName(raw)
		key := [2]string{program, tool}
		if short[key] == nil {
			short[key], apart[key] = map[string]bool{}, map[string]string{}
		}
		short[key][ShortName(name)] = true
		if other, again := apart[key][name]; again {
			t.Errorf("%s, %s: %q and %q are one name", program, tool, raw, other)
		}
		apart[key][name] = raw
		if want := strings.ReplaceAll(raw, "<unnamed>", "(anonymous namespace)"); tool == "nsys" && name != want {
			t.Errorf("%q is %q", raw, name)
		}
		if tool != "nsys" {
			continue
		}
		if got := ShortName(name); got != own {
			t.Errorf("short name of %q is %q, nsys says %q", raw, got, own)
		}
		if got := ShortName(NormalizeName(mangled)); got != own {
			t.Errorf("short name of %q is %q, nsys says %q", mangled, got, own)
		}
	}
	for _, program := range []string{"transformer", "unfused"} {
		nsys, torch := short[[2]string{program, "nsys"}], short[[2]string{program, "torch.profiler"}]
		if len(nsys) < 10 || !maps.Equal(nsys, torch) {
			t.Errorf("%s: nsys %q, torch.profiler %q", program, slices.Sorted(maps.Keys(nsys)),
				slices.Sorted(maps.Keys(torch)))
		}
	}
	for _, program := range []string{"transformer", "kernels"} {
		ncu := short[[2]string{program, "ncu"}]
		if len(ncu) == 0 {
			t.Errorf("%s: no names of ncu", program)
		}
		for name := range ncu {
			if !short[[2]string{program, "nsys"}][name] {
				t.Errorf("%s: %s is known to ncu alone", program, name)
			}
		}
	}
}

// checkName holds every function on names to what readers and reports rely on.
func checkName(t interface{ Fatalf(string, ...any) }, raw string) {
	name := NormalizeName(raw)
	show := func(s string) string { return fmt.Sprintf("%.200q (%d bytes)", s, len(s)) }
	for what, s := range map[string]string{
		"name": name, "range": NormalizeRange(raw), "line": NormalizeLine(raw), "short name": ShortName(name),
		"stem": StemName(name),
	} {
		if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) ||
			strings.ContainsAny(s, "\u202E\u2066\u2028") {
			t.Fatalf("%s of %s is %s", what, show(raw), show(s))
		}
		if s == "" && name != "" && what != "range" && what != "line" {
			t.Fatalf("%s of %s is empty", what, show(raw))
		}
	}
	if again := NormalizeName(name); again != name {
		t.Fatalf("name of %s is %s, then %s", show(raw), show(name), show(again))
	}
	if name == "" && strings.ContainsFunc(raw, func(r rune) bool { return !unicode.IsSpace(r) }) {
		t.Fatalf("name of %s is empty", show(raw))
	}
}

// Names of 100 kB that nest, repeat or unfold.
func TestHostileNames(t *testing.T) {
	const size = 32 << 10
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	nest := func(open, inner, close string) string {
		n := size / (len(open) + len(close))
		return strings.Repeat(open, n) + inner + strings.Repeat(close, n)
	}
	// Every type holds the one before twice.
	double := "_Z1f1BIiE"
	for i := range 200 {
		double += fmt.Sprintf("S_IS%[1]s_S%[1]s_E", strings.ToUpper(fmt.Sprintf("%x", min(i, 9))))
	}
	names := []string{
		double, "", " ", "\x00", "<", ">", "(", ")", "::", "_Z", "_R", "operator", "operator(", "__nv_static_",
		"__nv_static_9_",
		"__nv_static_99999999999999999999_x", "__nv_static_-1__x", "\u202Eevil", "a\u2028b",
	}
	for _, s := range []string{
		"<", ">", "(", ")", "[", "{", "::", "operator", "operator()", "a::", "[abi:", "[abi:x]", "_GLOBAL__N_",
		"_GLOBAL__N_::", "_INTERNAL_1_a",
		"cuda::__1::", "std::a::", "CUB_123456::", "_at_0x123456", "_Z", "_ZN", "_R", "__nv_static_2_ab_",
		"::h0123456789abcdef", "julia_1000", "_0d1d",
		"(anonymous namespace)::", " [clone .llvm.1]", "decltype(", "<unnamed>", "\xff", "`anonymous namespace'",
		"_c1_1_kernel_1_a", "_1", "_l1",
	} {
		names = append(names, fill(s))
		for _, prefix := range []string{"cudapy::", "_Z", "_RNv", "julia_", "__omp_offloading_"} {
			names = append(names, prefix+strings.Repeat(s, longestMangled/len(s)-9))
		}
	}
	for _, b := range [][3]string{
		{"<", "x", ">"}, {"(", "x", ")"}, {"a<(", "x", ")>"}, {"{lambda(", "x", ")#1}"}, {"[abi:", "x", "]"},
		{"[a[abi:", "x", "]bi:"},
		{"cuda::_", "_1::", "_1::"}, {"_GLOBAL_", "_GLOBAL__N_x", "_N_"},
	} {
		names = append(names, nest(b[0], b[1], b[2]), "f<"+nest(b[0], b[1], b[2])+">(int)")
	}
	// Names that demangle to another mangled name, over and over, and types nested as deep as the length allows.
	for _, s := range []string{"P", "R", "A1_", "M1A", "F", "1AI", "DpT_"} {
		names = append(names, "_Z1f"+strings.Repeat(s, longestMangled/len(s)-9)+"i", "_Z1f"+fill(s)+"i")
	}
	forever := "_Z1fv"
	for len(forever) < longestMangled-10 {
		forever = fmt.Sprintf("_Z%d%s", len(forever), forever)
	}
	for _, name := range append(names, forever) {
		checkName(t, name)
	}
	if got := NormalizeName(forever); !strings.HasPrefix(got, "(unreadable name ") ||
		got == NormalizeName(forever[4:]) {
		t.Errorf("a name that unfolds for ever is %.100q", got)
	}
}

// The time of nested pack expansions is exponential: a name of many stays mangled, whatever stands before it.
func TestExpansions(t *testing.T) {
	nested := "1fIJ1U1DiJEEEvT_1qT_DpDp1qT_DpT_DpT_T_U1q1qT_1qDpT_IU1qT_IDp1qT_JT_IDpT_IDpT_IJDpT_IJEDpU1qDpT_IJEU1qU1qT_T_T_T_T_IT_JT_EES_S_iES_E_S_EES_ET_EiES_EET_EEST_T_EES_iT"
	flat := "1fIJ" + strings.Repeat("i", 1000) + "EEv" + strings.Repeat("DpT_", 100)
	few := "_Z1fIJiEEv" + strings.Repeat("DpT_", mostExpansions)
	for _, prefix := range []string{"_Z", " _Z", "_INTERNAL_e301b184_12_file_cu_1e3911aa::_Z", "__nv_static_3_abc__Z"} {
		for _, name := range []string{nested, flat} {
			var n Normalizer
			if got := n.Name(prefix + name); got != "_Z"+name || n.Cost > 0 || n.Mangled == 0 {
				t.Errorf("%s%.20s is %.40s, cost %d, %d mangled", prefix, name, got, n.Cost, n.Mangled)
			}
		}
	}
	if got := NormalizeName(few); !strings.HasPrefix(got, "void f<int>(int, int") {
		t.Errorf("%s is %s", few, got)
	}
}

func TestNamePropertiesByPart(t *testing.T) {
	parts := []string{"_Z", "N", "1f", "E", "v", "<", ">", "(", ")", "::", " ", "_", "0", "12", "a", "Z1gv", "_R", "I",
		"S_", "[abi:", "]", "B2v1", "_GLOBAL__N_", "_INTERNAL_", "12_", "cuda::", "__4::", "CUB_200802::", "cudapy::",
		"$241", "julia_", "1000", "__omp_offloading_", "1_2_", "::h", "0123456789abcdef", ".llvm.", "__intern__",
		"__nv_static_", "2_ab_", "operator", "->", "decltype", "(anonymous namespace)", "\xff", "\u202E",
		"_at_0x123456", " [clone ."}
	rapid.Check(t, func(t *rapid.T) {
		checkName(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 12).Draw(t, "parts"), ""))
	})
}

func FuzzName(f *testing.F) {
	for _, s := range []string{
		"void at::native::<unnamed>::f<(int)4, at::native::g(int)::[lambda() (instance 1)]::operator ()() " +
			"const>(int, T2)",
		"_ZN2at6native40_GLOBAL__N__0f1a8107_8_Shape_cu_49f7391c19CatArrayBatchedCopyINS1_10OpaqueTypeILj2EEEjLi4ELi64ELi64EEEvPT_",
		"__nv_static_31__d8ceb000_7_file_cu_e3c0ffee_47__Z1gPf",
		"_ZN6cudapy8__main__1fB3v12B8cw51cXTLE5ArrayIfLi1E1C7mutable7alignedE",
		"void thrust::THRUST_200700_900_NS::f<cuda::std::__4::plus<int>>(T1)",
		"__omp_offloading_10303_4e2ec6__Z4main_l21", "_RNvCs1234_7kernels3add",
		"julia_step_2_4711(CuDeviceArray<Float32, 1, 1>)", "matmul_kernel_0d1d2d34567c89c1011c",
		"cudapy::__main__::f$241(int)", "\u202E\xff\x00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) { checkName(t, raw) })
}
