import { type Answered, type Sent, send, type Target } from '../support/service/send.ts'
import { type EventTail, followEvents } from '../support/sessions/event-tail.ts'

/** Connections are not reused: one to a server that was killed meanwhile would fail the next request. */
const once = { connection: 'close' }

/** Sends one request on its own connection. */
export const sendOnce = (target: Target, line: string, sent: Sent = {}): Promise<Answered> =>
  send(target, line, { ...sent, headers: { ...once, ...sent.headers } })

/** Opens an event stream on its own connection. */
export const tailEvents = (
  target: Target,
  sessionId: string,
  place: { readonly query?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<EventTail> => followEvents(target, sessionId, { ...place, headers: { ...once, ...place.headers } })
