"""nsgate as a ReFrame test: the verdict is the sanity, what was judged are the figures."""
import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher


@rfm.simple_test
class GPUPerformanceGate(rfm.RunOnlyRegressionTest):
    valid_systems, valid_prog_environs = ['*'], ['*']
    sourcesdir = 'src'  # beside this file: nsgate.toml, .nsgate and the workload
    executable = 'nsgate'
    executable_opts = ['check', '--report', 'json=nsgate.json']

    @run_before('run')
    def start_once(self):  # nsgate starts the ranks itself, by the launcher in nsgate.toml
        self.job.launcher = getlauncher('local')()

    def report(self):
        with open(os.path.join(self.stagedir, 'nsgate.json')) as f:
            return json.load(f)

    @sanity_function
    def verdict(self):  # 0 pass, 1 regression, 3 no verdict, which is no pass either
        return sn.assert_eq(self.job.exitcode, 0, f'{self.report()["verdict"]}: {self.report()["reason"]}')

    @run_before('performance')
    def figures(self):
        for f in self.report()['findings']:
            if f['gates'] and f.get('change') is not None:
                label = f'{f["name"]} {f["metric"]}' if f['name'] else f'{f["scope"]} {f["metric"]}'
                self.perf_variables[label] = sn.make_performance_function(sn.defer(100 * f['change']), '%')
