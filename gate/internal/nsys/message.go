package nsys

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// messageAt is where a range with a message began: a thread begins one range at a time.
type messageAt struct {
	thread int32
	start  int64
}

// The names under which NCCL describes its calls in the payloads of its NVTX ranges.
const (
	messageBytes        = "Message size [bytes]"
	messageCommunicator = "Communicator ID"
)

// readMessage notes what the payload of a range says of a collective. Payloads of others say nothing of that.
func (p *process) readMessage(thread int32, start int64, payload string) {
	m := message(payload)
	if m == (measure.Message{}) {
		return
	}
	if p.messages == nil {
		p.messages = map[messageAt]measure.Message{}
	}
	p.messages[messageAt{thread, start}] = m
}

// message is what a payload says in JSON, numbers perhaps as text; whatever else it is says nothing.
func message(payload string) measure.Message {
	if !strings.Contains(payload, messageBytes) && !strings.Contains(payload, messageCommunicator) {
		return measure.Message{}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(payload), &fields) != nil {
		return measure.Message{}
	}
	number := func(name string) uint64 {
		n, err := strconv.ParseUint(strings.Trim(string(fields[name]), `" `), 0, 64)
		if err != nil {
			return 0
		}
		return n
	}
	m := measure.Message{Communicator: number(messageCommunicator)}
	if n := number(messageBytes); n <= math.MaxInt64 {
		m.Bytes = int64(n)
	}
	return m
}

// messagesOf are the messages by the ranges that they belong to.
func (p *process) messagesOf() map[int32]measure.Message {
	if len(p.messages) == 0 {
		return nil
	}
	out := map[int32]measure.Message{}
	for i, x := range p.ranges {
		if m, ok := p.messages[messageAt{x.Thread, x.Start}]; ok {
			out[int32(i)] = m
		}
	}
	return out
}
