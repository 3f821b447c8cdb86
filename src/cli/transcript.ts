import type { ReadEvent } from '../client/event-reader.ts'
import type { SessionEvent } from '../contract/events.ts'
import { eventLines, textOf } from './event-lines.ts'
import type { Out } from './out.ts'

/** Prints the events of a session as they arrive; on a terminal, partial text appears immediately. */
export interface Transcript {
  show(read: ReadEvent): void
  /** Ends a line that is still open. */
  close(): void
}

interface TranscriptOptions {
  /** True for events to omit from the text for people; absent: none. */
  readonly isHidden?: (event: SessionEvent) => boolean
}

/** A message whose text is printed before its event is stored. */
interface Preview {
  readonly eventId: string
  text: string
}

export function createTranscript(out: Out, { isHidden = () => false }: TranscriptOptions = {}): Transcript {
  let preview: Preview | undefined
  /** The last preview whose line was ended by its own or another event. */
  let closed: Preview | undefined

  const close = () => {
    if (preview && preview.text !== '' && !preview.text.endsWith('\n')) out.text('\n')
    closed = preview ?? closed
    preview = undefined
  }

  const showDelta = (eventId: string, text: string) => {
    if (!out.isLive || text === '') return
    if (preview?.eventId !== eventId) {
      close()
      preview = { eventId, text: '' }
    }
    preview.text += text
    out.text(text)
  }

  /** True when the stored text continues the preview; after lost deltas the whole message is printed again. */
  const completesPreview = (event: SessionEvent): boolean => {
    const shown = [preview, closed].find(candidate => candidate?.eventId === event.id)
    const text = textOf(event)
    if (!shown || !text.startsWith(shown.text)) return false
    showDelta(event.id, text.slice(shown.text.length))
    return true
  }

  const showEvent = (event: SessionEvent) => {
    out.data(event)
    const isComplete = completesPreview(event)
    const lines = isComplete || isHidden(event) ? [] : eventLines(event)
    if (isComplete || lines.length > 0) close()
    for (const line of lines) out.line(...line)
  }

  return {
    show({ ephemeral, event }) {
      if (!ephemeral) showEvent(event)
      else if (event.type === 'event_delta') showDelta(String(event['event_id']), deltaText(event['delta']))
    },
    close,
  }
}

function deltaText(delta: unknown): string {
  const { content } = (delta ?? {}) as { readonly content?: { readonly text?: unknown } }
  return typeof content?.text === 'string' ? content.text : ''
}
