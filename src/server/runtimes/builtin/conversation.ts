import { askedBy, type NewEvent, type TextBlock } from '../../../contract/events.ts'

/** A content block as the Messages API takes it. */
export type Block = Readonly<Record<string, unknown>>

export interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: Block[]
}

/** A tool call that the log holds without a result. */
export interface OpenToolUse {
  /** The id of its event; undefined when nobody needs it. */
  readonly eventId: string | undefined
  readonly tool_use_id: string
  readonly name: string
  readonly input: unknown
  readonly permission: string
}

/** Requests for one answer that have failed so far. */
export interface FailedTries {
  readonly count: number
  /** When the first of them was told, in milliseconds of the Unix epoch. */
  readonly since: number
}

export interface UsageTotals {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cache_creation_input_tokens: number
  readonly cache_read_input_tokens: number
}

/**
 * The conversation that a session's log tells. Add every event in order; what it says is the same before and after a
 * crash, because it depends on nothing but the log. A prompt enters with the first model request that names it.
 */
export class Conversation {
  readonly messages: Message[] = []
  readonly #prompts = new Map<string, readonly TextBlock[]>()
  readonly #included = new Set<string>()
  readonly #open = new Map<string, OpenToolUse>()
  readonly #asked = new Set<string>()
  #isWaiting = false
  #openRequest: string | undefined
  #failed: FailedTries | undefined
  #usage: UsageTotals = noUsage

  add(event: NewEvent): void {
    switch (event.type) {
      case 'user.message':
        this.#prompts.set(String(event['prompt_id']), (event['content'] ?? []) as TextBlock[])
        break
      case 'span.model_request_start':
        this.#openRequest = event.id
        for (const id of (event['prompt_ids'] ?? []) as string[]) this.#include(id)
        break
      case 'agent.thinking':
      case 'agent.message':
        for (const block of (event['content'] ?? []) as Block[]) this.#say('assistant', block)
        break
      case 'agent.tool_use':
        this.#useTool(event)
        break
      case 'agent.tool_result':
        this.#answerTool(event)
        break
      case 'session.status_idle':
        for (const id of askedBy(event)) this.#asked.add(id)
        this.#isWaiting = askedBy(event).length > 0
        break
      case 'session.status_running':
        this.#isWaiting = false
        break
      case 'session.error':
        this.#failedAgain(event)
        break
      case 'span.model_request_end':
        this.#openRequest = undefined
        if (!event['is_error']) this.#failed = undefined
        this.#usage = addUsage(this.#usage, event['model_usage'])
        break
      default:
    }
  }

  /** True when the prompt was part of a model request already. */
  includes(promptId: string): boolean {
    return this.#included.has(promptId)
  }

  /** Tool calls without a result: an owner before us was cut off while they ran. */
  get openToolUses(): readonly OpenToolUse[] {
    return [...this.#open.values()]
  }

  /** True when a person was asked about the tool call of that event. */
  wasAsked(eventId: string): boolean {
    return this.#asked.has(eventId)
  }

  /** True from the moment that a person was asked until the work went on. */
  get isWaiting(): boolean {
    return this.#isWaiting
  }

  /** The event id of a model request that has no recorded end. */
  get openRequest(): string | undefined {
    return this.#openRequest
  }

  /** The tries of the next step that a run before this one has made; undefined for none. */
  get failedTries(): FailedTries | undefined {
    return this.#failed
  }

  #failedAgain(event: NewEvent): void {
    const { retry_status: retry } = (event['error'] ?? {}) as { retry_status?: { type?: string; attempt?: number } }
    const at = Date.parse(String(event['processed_at'] ?? ''))
    if (retry?.type !== 'retrying' || Number.isNaN(at)) this.#failed = undefined
    else this.#failed = { count: Number(retry.attempt ?? 1), since: this.#failed?.since ?? at }
  }

  /** Tokens of all model requests of the session, and of one more. */
  usageWith(usage: unknown): UsageTotals {
    return addUsage(this.#usage, usage)
  }

  #include(promptId: string): void {
    if (this.#included.has(promptId)) return
    this.#included.add(promptId)
    for (const { text } of this.#prompts.get(promptId) ?? []) this.#say('user', { type: 'text', text })
  }

  #useTool(event: NewEvent): void {
    const id = String(event['tool_use_id'])
    const name = String(event['name'])
    const input = event['input'] ?? {}
    const permission = String(event['evaluated_permission'] ?? 'allow')
    this.#open.set(id, { eventId: event.id, tool_use_id: id, name, input, permission })
    this.#say('assistant', { type: 'tool_use', id, name, input })
  }

  #answerTool(event: NewEvent): void {
    const id = String(event['tool_use_id'])
    if (!this.#open.delete(id)) return
    const content = event['content'] ?? []
    this.#say('user', {
      type: 'tool_result',
      tool_use_id: id,
      content,
      ...(event['is_error'] ? { is_error: true } : {}),
    })
  }

  /** Blocks of one side in a row are one message: the API wants the roles to alternate. */
  #say(role: Message['role'], block: Block): void {
    const last = this.messages.at(-1)
    if (last?.role === role) last.content.push(block)
    else this.messages.push({ role, content: [block] })
  }
}

const noUsage: UsageTotals = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
}

function addUsage(total: UsageTotals, usage: unknown): UsageTotals {
  const counts = (usage ?? {}) as Partial<Record<keyof UsageTotals, number>>
  return {
    input_tokens: total.input_tokens + (counts.input_tokens ?? 0),
    output_tokens: total.output_tokens + (counts.output_tokens ?? 0),
    cache_creation_input_tokens: total.cache_creation_input_tokens + (counts.cache_creation_input_tokens ?? 0),
    cache_read_input_tokens: total.cache_read_input_tokens + (counts.cache_read_input_tokens ?? 0),
  }
}
