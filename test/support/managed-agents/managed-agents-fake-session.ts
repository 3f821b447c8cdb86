import type { ServerResponse } from 'node:http'
import { type Json, recordsOf, textOf } from '../../../src/server/platform/json.ts'
import type { Script, Step, Switches } from './managed-agents-fake-script.ts'

interface Stored extends Record<string, unknown> {
  readonly id: string
  readonly type: string
  processed_at: string | null
}

interface Reader {
  readonly response: ServerResponse
  readonly wantsDeltas: boolean
  frames: number
}

/** One session of the fake: its events, who reads them, and the turn that continues. */
export class FakeSession {
  readonly events: Stored[] = []
  readonly id: string
  readonly body: Json
  status: 'idle' | 'running' | 'terminated' = 'idle'
  /** Messages of users, however they came to be. */
  messages = 0
  interrupts = 0
  readonly #switches: Switches
  readonly #script: Script
  readonly #readers = new Set<Reader>()
  readonly #queue: Stored[] = []
  readonly #answers = new Map<string, Json>()
  #wake: () => void = () => undefined
  #interrupted = Promise.withResolvers<'interrupted'>()
  #turn = 0
  #made = 0
  #clock = Date.UTC(2026, 0, 1)

  constructor(id: string, body: Json, { switches, script }: { switches: Switches; script: Script }) {
    this.id = id
    this.body = body
    this.#switches = switches
    this.#script = script
  }

  get readers(): number {
    return this.#readers.size
  }

  read(response: ServerResponse, wantsDeltas: boolean): void {
    const reader = { response, wantsDeltas, frames: 0 }
    this.#readers.add(reader)
    response.once('close', () => this.#readers.delete(reader))
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    response.write(': here\n\n')
    if (this.#switches.replays) for (const event of this.list(undefined)) this.#write(reader, event)
    if (this.#switches.closeAtOnce) response.end()
  }

  /** Takes events of the user; what is stored of them. */
  send(events: readonly Json[]): Json[] {
    return events.map(sent => {
      const isQueued = sent['type'] === 'user.message'
      const stored = this.#store(sent, isQueued ? null : this.#now())
      if (sent['type'] === 'user.message') this.#enqueue(stored)
      if (sent['type'] === 'user.interrupt') this.#interrupt()
      const answers = textOf(sent['tool_use_id']) || textOf(sent['custom_tool_use_id'])
      if (answers !== '') this.#answers.set(answers, sent)
      this.#wake()
      return this.shown({ ...stored })
    })
  }

  /** The list, oldest first; what waits has no time yet and comes last. */
  list(since: string | undefined): Json[] {
    const ordered = [...this.events].sort((a, b) => Number(a.processed_at === null) - Number(b.processed_at === null))
    return ordered
      .filter(event => !this.#isHidden(event))
      .filter(({ processed_at }) => since === undefined || (processed_at !== null && processed_at >= since))
      .map(event => this.shown({ ...event }))
  }

  shown({ id, ...event }: Json): Json {
    return this.#switches.noIds ? event : { id, ...event }
  }

  /** Adds an event from outside of any turn. */
  emit(event: Json): void {
    this.#store(event, this.#now())
  }

  /** Writes these very bytes to all streams. */
  writeBytes(bytes: string): void {
    for (const { response } of this.#readers) response.write(bytes)
  }

  endStreams(how: 'end' | 'reset'): void {
    for (const { response } of this.#readers) how === 'end' ? response.end() : response.destroy()
  }

  #now(): string {
    this.#clock += 1_000
    return new Date(this.#clock).toISOString()
  }

  #store(event: Json, processed_at: string | null): Stored {
    this.#made += 1
    const id = `sevt_${this.id}_${this.#made}`
    const stored = { id, processed_at, ...event, type: textOf(event['type']) }
    this.events.push(stored)
    this.#publish(stored)
    return stored
  }

  #publish(event: Json): void {
    if (this.#isHidden(event)) return
    const isDelta = event['type'] === 'event_start' || event['type'] === 'event_delta'
    for (const reader of this.#readers) if (!isDelta || reader.wantsDeltas) this.#write(reader, event)
    if (this.#switches.closeAtIdle && event['type'] === 'session.status_idle') this.endStreams('end')
  }

  #isHidden({ type }: Json): boolean {
    return this.#switches.isTerse && (textOf(type).startsWith('user.') || type === 'session.status_running')
  }

  #write(reader: Reader, event: Json): void {
    const name = this.#switches.bareFrames ? '' : `event: ${String(event['type'])}\n`
    const isDelta = 'event' in event || 'delta' in event
    reader.response.write(`${name}data: ${JSON.stringify(isDelta ? event : this.shown({ ...event }))}\n\n`)
    reader.frames += 1
    if (reader.frames >= this.#switches.dropAfter) reader.response.destroy()
  }

  #enqueue(message: Stored): void {
    this.messages += 1
    this.#queue.push(message)
    if (this.status === 'idle') void this.#work()
  }

  #interrupt(): void {
    this.interrupts += 1
    if (this.status === 'running') this.#interrupted.resolve('interrupted')
  }

  async #work(): Promise<void> {
    this.status = 'running'
    // The answer to the call that brought the message goes out first.
    await new Promise(resolve => setImmediate(resolve))
    for (let message = this.#queue.shift(); message; message = this.#queue.shift()) {
      this.#interrupted = Promise.withResolvers()
      await this.#switches.hold
      if (this.#switches.staleIdle) this.emit(idle({ type: 'end_turn' }))
      message.processed_at = this.#now()
      this.events.push(...this.events.splice(this.events.indexOf(message), 1))
      this.#publish(message)
      this.emit({ type: 'session.status_running' })
      const text = recordsOf(message['content'])
        .map(block => textOf(block['text']))
        .join('\n')
      this.emit(await this.#play(this.#script(text, this.#turn++)))
    }
    this.status = 'idle'
  }

  /** The event that ends the turn. */
  async #play(steps: readonly Step[]): Promise<Json> {
    for (const step of steps) {
      const end = await this.#step(step)
      if (end === 'interrupted') break
      if (end) return end
    }
    return idle({ type: 'end_turn' })
  }

  async #step(step: Step): Promise<Json | 'interrupted' | undefined> {
    if ('use' in step || 'askAll' in step || 'custom' in step) return this.#toolStep(step)
    if ('bytes' in step || 'cut' in step) return this.#streamStep(step)
    if ('say' in step) this.#say(step.say, step.pieces ?? [])
    if ('raw' in step) this.emit(step.raw)
    if ('end' in step) return textOf(step.end['type']).startsWith('session.') ? step.end : idle(step.end)
    if ('hang' in step) return this.#interrupted.promise
    if (!('until' in step)) return undefined
    const first = await Promise.race([step.until, this.#interrupted.promise])
    return first === 'interrupted' ? first : undefined
  }

  async #streamStep(step: Extract<Step, { bytes: string } | { cut: unknown }>): Promise<undefined> {
    if ('bytes' in step) this.writeBytes(step.bytes)
    else this.endStreams(step.cut)
    // A disconnected reader is removed before the turn continues.
    await new Promise(resolve => setImmediate(resolve))
  }

  async #toolStep(step: Extract<Step, { use: string } | { askAll: unknown } | { custom: string }>) {
    if ('custom' in step) return this.#custom(step.custom)
    const mcp = 'use' in step ? step.mcp : undefined
    const names = 'use' in step ? [step.use] : step.askAll
    const asks = 'askAll' in step || step.ask === true
    const kind = mcp === undefined ? 'agent.tool' : 'agent.mcp_tool'
    const calls = names.map(name =>
      this.#store(
        {
          type: `${kind}_use`,
          name,
          input: ('use' in step ? step.input : undefined) ?? {},
          evaluated_permission: asks ? 'ask' : 'allow',
          ...(mcp !== undefined && { mcp_server_name: mcp }),
        },
        this.#now(),
      ),
    )
    if (asks && (await this.#answered(calls.map(({ id }) => id))) === 'interrupted') return 'interrupted'
    for (const { id } of calls) {
      const answer = this.#answers.get(id)
      const isDenied = answer?.['result'] === 'deny'
      const text = isDenied ? `denied: ${textOf(answer?.['deny_message'])}` : 'use' in step ? step.result : 'done'
      const named = mcp === undefined ? { tool_use_id: id } : { mcp_tool_use_id: id }
      this.emit({ type: `${kind}_result`, ...named, content: [{ type: 'text', text }], is_error: isDenied })
    }
    return undefined
  }

  async #custom(name: string) {
    const { id } = this.#store({ type: 'agent.custom_tool_use', name, input: {} }, this.#now())
    if ((await this.#answered([id])) === 'interrupted') return 'interrupted'
    const [block] = recordsOf(this.#answers.get(id)?.['content'])
    this.#say(textOf(block?.['text']), [])
    return undefined
  }

  /** Idle until the user has answered all of these; each answer that leaves some open repeats the rest. */
  async #answered(ids: readonly string[]): Promise<'interrupted' | undefined> {
    for (let announced = 0; ; ) {
      const open = ids.filter(id => !this.#answers.has(id))
      if (open.length === 0) break
      if (open.length !== announced) this.emit(idle({ type: 'requires_action', event_ids: open }))
      announced = open.length
      const woken = new Promise<void>(resolve => {
        this.#wake = resolve
      })
      if ((await Promise.race([woken, this.#interrupted.promise])) === 'interrupted') return 'interrupted'
    }
    this.emit({ type: 'session.status_running' })
    return undefined
  }

  #say(text: string, pieces: readonly string[]): void {
    const start = this.#store({ type: 'span.model_request_start' }, this.#now())
    const id = `sevt_${this.id}_${this.#made + 1}`
    if (pieces.length > 0) this.#publish({ type: 'event_start', event: { id, type: 'agent.message' } })
    for (const piece of pieces) {
      const delta = { type: 'content_delta', content: { type: 'text', text: piece } }
      this.#publish({ type: 'event_delta', event_id: id, delta })
    }
    this.emit({ type: 'agent.message', content: [{ type: 'text', text }] })
    const model_usage = {
      input_tokens: 10,
      output_tokens: 5,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
    }
    this.emit({ type: 'span.model_request_end', model_request_start_id: start.id, is_error: null, model_usage })
  }
}

const idle = (stop_reason: Json): Json => ({ type: 'session.status_idle', stop_reason, stop_details: null })
