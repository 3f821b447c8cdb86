import { sseReader } from '../../../../contract/sse.ts'
import type { Sink } from '../../call.ts'

/**
 * A sink for a stream in Google's format that sends it on to `sink` as one JSON array, an element for each event. That is
 * what clients get who do not ask for `alt=sse`. An answer that is no stream passes as it is.
 */
export function createArraySink(sink: Sink): Sink {
  let frames: ReturnType<typeof sseReader> | undefined
  const decoder = new TextDecoder()
  let isEmpty = true

  const elements = (chunk: Buffer | undefined): string => {
    if (!frames || !chunk) return ''
    let text = ''
    for (const { data } of frames(decoder.decode(chunk, { stream: true }))) {
      text += `${isEmpty ? '[' : ',\r\n'}${data}`
      isEmpty = false
    }
    return text
  }

  return {
    head(status, headers) {
      const isStream = String(headers['content-type']).startsWith('text/event-stream')
      if (isStream) frames = sseReader()
      sink.head(status, isStream ? { ...headers, 'content-type': 'application/json; charset=utf-8' } : headers)
    },
    data(chunk) {
      if (!frames) return sink.data(chunk)
      const text = elements(chunk)
      return text === '' || sink.data(Buffer.from(text))
    },
    onDrain: resume => sink.onDrain(resume),
    end(chunk) {
      if (!frames) return sink.end(chunk)
      // A frame that was cut off before its empty line is no element.
      const text = elements(chunk)
      sink.end(Buffer.from(`${text}${isEmpty ? '[' : ''}]`))
    },
  }
}
