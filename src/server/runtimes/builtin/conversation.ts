import {
  askedBy,
  budgetReached,
  contextCompacted,
  endsRun,
  type NewEvent,
  type TextBlock,
} from '../../../contract/events.ts'
import type { Block } from './context/blocks.ts'
import { seqOf, Transcript } from './context/transcript.ts'
import { repairOrder } from './result-events.ts'
import { addUsage, noUsage, tokensInWindow, type UsageTotals } from './usage-totals.ts'

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

interface Waiting {
  readonly seq: number
  readonly content: readonly TextBlock[]
}

/**
 * The conversation that a session's log tells. Add every event in order, or only those that the last compaction has kept; what
 * it says is the same before and after a crash, because it depends on nothing but the log. A prompt enters with the first model
 * request that names it.
 */
export class Conversation {
  /** What was said. */
  readonly said: Transcript
  readonly #prompts = new Map<string, Waiting>()
  readonly #included = new Set<string>()
  /** Numbers of messages of prompts, and of the requests with which they entered. */
  #taken: { readonly seq: number; readonly at: number }[] = []
  readonly #open = new Map<string, OpenToolUse>()
  readonly #asked = new Set<string>()
  #isWaiting = false
  #openRequest: { readonly id: string | undefined; readonly isSummary: boolean } | undefined
  #failed: FailedTries | undefined
  /** What the model is told with its next request: its answer was not what was asked for. */
  #repair: { readonly seq: number; readonly order: string } | undefined
  #isAskedAgain = false
  #usage: UsageTotals = noUsage

  constructor(said = new Transcript()) {
    this.said = said
  }

  /** One that changes by itself. */
  copy(): Conversation {
    const copy = new Conversation(this.said.copy())
    for (const [id, prompt] of this.#prompts) copy.#prompts.set(id, prompt)
    for (const id of this.#included) copy.#included.add(id)
    for (const [id, use] of this.#open) copy.#open.set(id, use)
    for (const id of this.#asked) copy.#asked.add(id)
    copy.#taken = [...this.#taken]
    copy.#isWaiting = this.#isWaiting
    copy.#openRequest = this.#openRequest
    copy.#failed = this.#failed
    copy.#repair = this.#repair
    copy.#isAskedAgain = this.#isAskedAgain
    copy.#usage = this.#usage
    return copy
  }

  add(event: NewEvent): void {
    if (endsRun(event) && !budgetReached(event)) {
      this.#prompts.delete(String(event['prompt_id']))
      this.#repair = undefined
      this.#isAskedAgain = false
    }
    switch (event.type) {
      case 'user.message':
        this.#prompts.set(String(event['prompt_id']), {
          seq: seqOf(event),
          content: (event['content'] ?? []) as TextBlock[],
        })
        break
      case 'session.prompt_ended':
        this.#prompts.delete(String(event['prompt_id']))
        break
      case 'span.model_request_start':
        this.#begin(event)
        break
      case 'agent.thinking':
      case 'agent.message':
        for (const block of (event['content'] ?? []) as Block[]) this.said.say('assistant', block, event)
        break
      case 'agent.tool_use':
        this.#useTool(event)
        break
      case 'agent.tool_result':
        this.#answerTool(event)
        break
      case 'agent.thread_context_compacted':
        this.#compact(event)
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
      case 'session.usage':
        this.#usage = addUsage(noUsage, event['usage'])
        break
      case 'span.model_request_end':
        this.#end(event)
        break
      default:
    }
  }

  /** Messages of prompts, and orders to answer again, before event `seq` that enter the conversation behind it, or have not yet: their numbers. */
  waitingAt(seq: number): number[] {
    const late = this.#taken.filter(({ at }) => at >= seq)
    const waiting = [...this.#prompts.values(), ...(this.#repair ? [this.#repair] : [])]
    return [...late, ...waiting].map(({ seq: own }) => own).filter(own => own < seq)
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
    return this.#openRequest?.id
  }

  /** The tries of the next step that a run before this one has made; undefined for none. */
  get failedTries(): FailedTries | undefined {
    return this.#failed
  }

  /** True once the model was asked for another answer, since its first was not what was asked for. */
  get isAskedAgain(): boolean {
    return this.#isAskedAgain
  }

  /** Tokens of all model requests of the session, and of one more. */
  usageWith(usage: unknown): UsageTotals {
    return addUsage(this.#usage, usage)
  }

  #begin(event: NewEvent): void {
    const isSummary = event['purpose'] === 'compaction'
    this.#openRequest = { id: event.id, isSummary }
    if (isSummary) return
    if (this.#open.size === 0) this.said.beginStep(event)
    if (event['trimmed_until'] !== undefined) this.said.trimUntil(String(event['trimmed_until']))
    if (this.#repair) {
      this.#taken.push({ seq: this.#repair.seq, at: seqOf(event) })
      this.said.say('user', { type: 'text', text: this.#repair.order }, event)
      this.#repair = undefined
    }
    for (const id of (event['prompt_ids'] ?? []) as string[]) this.#include(id, event)
  }

  #end(event: NewEvent): void {
    const tokens = this.#openRequest?.isSummary ? undefined : tokensInWindow(event['model_usage'])
    this.#openRequest = undefined
    if (!event['is_error']) this.#failed = undefined
    this.#usage = addUsage(this.#usage, event['model_usage'])
    if (tokens !== undefined) this.said.count(tokens)
  }

  #failedAgain(event: NewEvent): void {
    const order = repairOrder(event)
    if (order !== undefined) {
      this.#repair = { seq: seqOf(event), order }
      this.#isAskedAgain = true
      return
    }
    const { retry_status: retry } = (event['error'] ?? {}) as { retry_status?: { type?: string; attempt?: number } }
    const at = Date.parse(String(event['processed_at'] ?? ''))
    if (retry?.type !== 'retrying' || Number.isNaN(at)) this.#failed = undefined
    else this.#failed = { count: Number(retry.attempt ?? 1), since: this.#failed?.since ?? at }
  }

  #include(promptId: string, event: NewEvent): void {
    if (this.#included.has(promptId)) return
    this.#included.add(promptId)
    const prompt = this.#prompts.get(promptId)
    if (!prompt) return
    this.#prompts.delete(promptId)
    this.#taken.push({ seq: prompt.seq, at: seqOf(event) })
    for (const { text } of prompt.content) this.said.say('user', { type: 'text', text }, event)
  }

  #useTool(event: NewEvent): void {
    const id = String(event['tool_use_id'])
    const name = String(event['name'])
    const input = event['input'] ?? {}
    const permission = String(event['evaluated_permission'] ?? 'allow')
    this.#open.set(id, { eventId: event.id, tool_use_id: id, name, input, permission })
    this.said.say('assistant', { type: 'tool_use', id, name, input }, event)
  }

  #answerTool(event: NewEvent): void {
    const id = String(event['tool_use_id'])
    if (!this.#open.delete(id)) return
    const content = event['content'] ?? []
    const isError = event['is_error'] ? { is_error: true } : {}
    this.said.say('user', { type: 'tool_result', tool_use_id: id, content, ...isError }, event)
  }

  #compact(event: NewEvent): void {
    const compaction = contextCompacted(event)
    if (!compaction) return
    this.said.compact(compaction)
    this.#taken = this.#taken.filter(({ at }) => at >= compaction.kept_from_seq)
    for (const id of compaction.prompt_ids) this.#included.add(id)
  }
}
