import { awaitedApprovals, endsRun, isOfThread, type SessionEvent } from '../../contract/events.ts'
import type { Preview } from '../sessions/log/remote-previews.ts'
import { MessageReading, type Part, partIdOf, type Touched } from './messages.ts'
import { type ApprovalRequest, permissionOf } from './permissions.ts'

/** An event in opencode's format. For some `session.*` events the record is added as `info` when they are sent. */
export interface BusEvent {
  readonly type: string
  readonly properties: Readonly<Record<string, unknown>>
}

/** True for events that include the session's record as of the time they are sent. */
export const needsRecord = ({ type }: BusEvent): boolean =>
  type === 'session.created' || type === 'session.updated' || type === 'session.deleted'

/**
 * Translates the log of one session to opencode's events, one by one, with the ids of the message list. Does no I/O.
 * Source: Dialects, section 2.3.
 */
export class EventMapping {
  readonly #sessionId: string
  readonly #reading: MessageReading
  /** Tool calls of the active run, by event id: each may turn out to require approval. */
  readonly #toolCalls = new Map<string, ApprovalRequest>()
  readonly #pendingApprovals = new Set<string>()
  /** Parts that are being generated. */
  readonly #begun = new Set<string>()
  readonly #written = new Set<string>()
  #retries = 0
  #isBusy = false
  #isOver = true
  /** Time of the last event. */
  #nowMs = 0

  constructor(sessionId: string) {
    this.#sessionId = sessionId
    this.#reading = new MessageReading(sessionId)
  }

  /** True when no run is open and no prompt has arrived since the last one. */
  get isOver(): boolean {
    return this.#isOver
  }

  take(event: SessionEvent): BusEvent[] {
    if (isOfThread(event)) return []
    const answerId = this.#reading.answerId
    const touched = this.#reading.take(event)
    this.#note(event)
    const isEnd = endsRun(event)
    if (isEnd) this.#isOver = true
    const events = [
      ...this.#beginning(event),
      ...this.#messages(touched),
      ...this.#approvalEvents(event, answerId),
    ].concat(isEnd ? this.#ending(event, touched) : this.#others(event))
    this.#reading.dropSettled()
    return events
  }

  /** Translates a text that is being generated. May be lost: the complete part follows when it is done. */
  preview(preview: Preview): BusEvent[] {
    const eventId = preview.type === 'event_start' ? preview.event.id : preview.event_id
    const messageID = this.#reading.answerId
    if (messageID === undefined || this.#written.has(eventId)) return []
    const place = { sessionID: this.#sessionId, messageID }
    const id = partIdOf(eventId)
    const events: BusEvent[] = []
    if (!this.#begun.has(eventId)) {
      this.#begun.add(eventId)
      const part = { id, ...place, type: 'text', text: '', time: { start: this.#nowMs } }
      events.push(updated(this.#sessionId, part, this.#nowMs))
    }
    if (preview.type === 'event_delta') {
      const properties = { ...place, partID: id, field: 'text', delta: preview.delta.content.text }
      events.push({ type: 'message.part.delta', properties })
    }
    return events
  }

  #note(event: SessionEvent): void {
    const { id } = event
    this.#nowMs = Date.parse(event.processed_at)
    if (event.type === 'user.message' || event.type === 'user.compact' || event.type === 'session.status_running')
      this.#isOver = false
    if (event.type === 'agent.message') this.#written.add(id)
    if (event.type !== 'agent.tool_use' && event.type !== 'agent.mcp_tool_use') return
    const messageID = this.#reading.answerId
    const { tool_use_id: callID, name, input } = event
    const tool = messageID === undefined ? undefined : { messageID, callID }
    this.#toolCalls.set(id, { id, sessionId: this.#sessionId, name, input, tool })
  }

  #beginning({ type }: SessionEvent): BusEvent[] {
    if (type !== 'session.status_running' || this.#isBusy) return []
    this.#isBusy = true
    this.#retries = 0
    return [this.#status({ type: 'busy' })]
  }

  #messages({ info, parts }: Touched): BusEvent[] {
    const sessionID = this.#sessionId
    const message = info ? [{ type: 'message.updated', properties: { sessionID, info: structuredClone(info) } }] : []
    return [...message, ...parts.map(part => updated(sessionID, structuredClone(part), this.#nowMs))]
  }

  #approvalEvents(event: SessionEvent, answerId: string | undefined): BusEvent[] {
    if (event.type === 'user.tool_confirmation') {
      return this.#replied(event.tool_use_id, event.result === 'allow' ? 'once' : 'reject')
    }
    if (event.type === 'session.approval_expired') return this.#replied(event.tool_use_id, 'reject')
    if (answerId === undefined) return []
    if (event.type === 'agent.tool_result') return this.#settled(event.tool_use_id)
    if (event.type === 'agent.mcp_tool_result') return this.#settled(event.mcp_tool_use_id)
    return awaitedApprovals(event).flatMap(id => {
      const toolCall = this.#toolCalls.get(id)
      if (!toolCall || this.#pendingApprovals.has(id)) return []
      this.#pendingApprovals.add(id)
      return [{ type: 'permission.asked', properties: permissionOf(toolCall) }]
    })
  }

  /** The approval expired, and the call was denied. */
  #settled(callId: string): BusEvent[] {
    const open = [...this.#pendingApprovals].filter(id => this.#toolCalls.get(id)?.tool?.callID === callId)
    return open.flatMap(id => this.#replied(id, 'reject'))
  }

  /** Older clients read `permissionID` and `response`. */
  #replied(id: string, reply: 'once' | 'reject'): BusEvent[] {
    if (!this.#pendingApprovals.delete(id)) return []
    const properties = { sessionID: this.#sessionId, requestID: id, permissionID: id, reply, response: reply }
    return [{ type: 'permission.replied', properties }]
  }

  /** Events at the end of a run: pending approvals are rejected, then the error, then idle. */
  #ending(event: SessionEvent, { info }: Touched): BusEvent[] {
    const sessionID = this.#sessionId
    const withdrawn = [...this.#pendingApprovals].flatMap(id => this.#replied(id, 'reject'))
    const error = info?.['error']
    const failed = error === undefined ? [] : [{ type: 'session.error', properties: { sessionID, error } }]
    const wasBusy = this.#isBusy
    this.#isBusy = false
    this.#begun.clear()
    this.#written.clear()
    this.#toolCalls.clear()
    const idle = [this.#status({ type: 'idle' }), { type: 'session.idle', properties: { sessionID } }]
    if (event.type !== 'session.deleted') {
      return [...withdrawn, ...failed, ...idle, { type: 'session.updated', properties: { sessionID } }]
    }
    const gone = { type: 'session.deleted', properties: { sessionID } }
    return wasBusy ? [...withdrawn, ...failed, ...idle, gone] : [gone]
  }

  #others(event: SessionEvent): BusEvent[] {
    if (event.type === 'session.updated') return [{ type: event.type, properties: { sessionID: this.#sessionId } }]
    if (event.type === 'agent.thread_context_compacted') {
      return [{ type: 'session.compacted', properties: { sessionID: this.#sessionId } }]
    }
    if (event.type !== 'session.error') return []
    const { message, retry_status } = event.error
    this.#retries += 1
    // Runtimes that retry internally do not report the time.
    const nextMs = Date.parse(retry_status?.next_at ?? '')
    const next = Number.isNaN(nextMs) ? this.#nowMs : nextMs
    return [this.#status({ type: 'retry', attempt: retry_status?.attempt ?? this.#retries, message, next })]
  }

  #status(status: object): BusEvent {
    return { type: 'session.status', properties: { sessionID: this.#sessionId, status } }
  }
}

const updated = (sessionID: string, part: Part, time: number): BusEvent => ({
  type: 'message.part.updated',
  properties: { sessionID, part, time },
})
