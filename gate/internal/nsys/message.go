package nsys

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// The names under which NCCL describes its calls in the payloads of its NVTX ranges (NCCL 2.27; other releases leave out its own name
// before the communicator's).
const (
	messageBytes        = "Message size [bytes]"
	messageCommunicator = "ommunicator ID"
)

// communicators are the names of a communicator.
var communicators = []string{"NCCL communicator ID", "Communicator ID"}

// readMessage keeps the collective that the payload of a range describes, if it describes one.
func (p *process) readMessage(thread int32, start int64, payload string) {
	m := message(payload)
	if m == (model.Message{}) {
		return
	}
	if p.messages == nil {
		p.messages = map[messageAt]model.Message{}
	}
	p.messages[messageAt{thread, start}] = m
}

// message reads a payload in JSON, whose numbers may be text. Any other payload gives the zero message.
func message(payload string) model.Message {
	if !strings.Contains(payload, messageBytes) && !strings.Contains(payload, messageCommunicator) {
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
	m := model.Message{Communicator: number(communicators...)}
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
