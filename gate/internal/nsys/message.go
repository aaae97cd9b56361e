package nsys

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// messageBytes is the name under which NCCL tells the size of a message in the payloads of its NVTX ranges.
const messageBytes = "Message size [bytes]"

// message reads a payload in JSON, whose numbers may be text. Any other payload gives the zero message.
func message(payload string) model.Message {
	if !strings.Contains(payload, messageBytes) && !strings.Contains(payload, "ommunicator ID") {
		return model.Message{}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(payload), &fields) != nil {
		return model.Message{}
	}
	number := func(names ...string) uint64 {
		for _, name := range names {
			if n, err := strconv.ParseUint(strings.Trim(string(fields[name]), `" `), 0, 64); err == nil {
				return n
			}
		}
		return 0
	}
	m := model.Message{Communicator: number("NCCL communicator ID", "Communicator ID")} // NCCL 2.27, and other releases
	if n := number(messageBytes); n <= math.MaxInt64 {
		m.Bytes = int64(n)
	}
	return m
}

// messagesOf are the messages by the ranges that they belong to.
func (p *process) messagesOf() map[int32]model.Message {
	if len(p.messages) == 0 {
		return nil
	}
	out := map[int32]model.Message{}
	for i, x := range p.ranges {
		if m, ok := p.messages[messageAt{x.Thread, x.Start}]; ok {
			out[int32(i)] = m
		}
	}
	return out
}
