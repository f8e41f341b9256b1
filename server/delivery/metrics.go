package delivery

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	streams     prometheus.Gauge
	sent        prometheus.Counter
	encoded     prometheus.Counter
	buffered    prometheus.Gauge
	compressors prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		streams: gauge("sluice_streams_open", "Open streams."),
		sent:    counter("sluice_stream_frames_sent_total", "Frames sent to clients."),
		encoded: counter("sluice_stream_frames_encoded_total",
			"Frames encoded. Streams of one run share them, so there may be fewer than were sent."),
		buffered:    gauge("sluice_stream_buffered_bytes", "Bytes of encoded frames kept for the streams that share them."),
		compressors: gauge("sluice_stream_compressors", "Compressors in use; each takes about 0.7 MB."),
	}
	for _, c := range []prometheus.Collector{m.streams, m.sent, m.encoded, m.buffered, m.compressors} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
