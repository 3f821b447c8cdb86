import { awaitedApprovals, budgetReached, contextCompacted, endsRun, isOfThread } from '../../../contract/events.ts'
import type { PromptPart } from '../../../contract/prompts.ts'
import { mcpToolName } from '../../tools/mcp-toolset.ts'
import { namesInResult } from '../../tools/searched-tools.ts'
import type { ToolResult } from '../../tools/tool.ts'
import { searchName } from '../../tools/tool-search.ts'
import { sentArguments } from './call-arguments.ts'
import { blockOf, contentOf } from './context/blocks.ts'
import { type ReadEvent, seqOf, Transcript } from './context/transcript.ts'
import { FoundTools } from './found-tools.ts'
import { evaluationProblem, instructionAfter } from './outcome/outcome-events.ts'
import { OutcomeProgress } from './outcome/progress.ts'
import { repairInstruction } from './result-events.ts'
import { addUsage, noUsage, tokensInWindow, type UsageTotals } from './usage-totals.ts'

type EventOf<Type extends ReadEvent['type']> = Extract<ReadEvent, { readonly type: Type }>

/** A tool call in the log without a result. */
export interface OpenToolUse {
  /** Id of its event; undefined when it is not needed. */
  readonly eventId: string | undefined
  readonly tool_use_id: string
  /** As the model calls it. */
  readonly name: string
  readonly input: unknown
  readonly permission: string
  /** True for a call of an MCP server. */
  readonly isMcp?: true
  /** True for a call whose result a client sends. */
  readonly isClient?: true
}

/** Failed requests for one answer so far. */
export interface FailedTries {
  readonly count: number
  /** Time of the first failure event, in milliseconds since the Unix epoch. */
  readonly since: number
}

/** Result of a call that came from a client. */
type ClientResult = Pick<ToolResult, 'content' | 'is_error'>

interface PendingMessage {
  readonly seq: number
  readonly content: readonly PromptPart[]
}

/**
 * Conversation of a session, rebuilt from its log. Add every event in order, or only those kept by the last compaction.
 * It depends on the log alone, so it is the same before and after a crash. A prompt enters it with the first model
 * request that names it.
 */
export class Conversation {
  readonly transcript: Transcript
  readonly #prompts = new Map<string, PendingMessage>()
  readonly #included = new Set<string>()
  /** Sequence numbers of prompt messages, and of the requests with which they entered the conversation. */
  #entered: { readonly seq: number; readonly at: number }[] = []
  readonly #open = new Map<string, OpenToolUse>()
  readonly #asked = new Set<string>()
  readonly #found = new FoundTools()
  /** Results of clients by the ids of the calls' events. They enter the conversation when work continues. */
  readonly #answers = new Map<string, ClientResult>()
  #isWaiting = false
  /** A request that is not part of the conversation, for a summary or to a grader, is an aside. */
  #openRequest: { readonly id: string | undefined; readonly isAside: boolean } | undefined
  #failed: FailedTries | undefined
  /** Instruction to repair an invalid answer, or the feedback of a grader; sent with the next request. */
  #instruction: { readonly seq: number; readonly text: string } | undefined
  #isRepairing = false
  #usage: UsageTotals = noUsage
  readonly outcomes: OutcomeProgress

  constructor(transcript = new Transcript(), outcomes = new OutcomeProgress()) {
    this.transcript = transcript
    this.outcomes = outcomes
  }

  /** Returns an independent copy. */
  copy(): Conversation {
    const copy = new Conversation(this.transcript.copy(), this.outcomes.copy())
    for (const [id, prompt] of this.#prompts) copy.#prompts.set(id, prompt)
    for (const id of this.#included) copy.#included.add(id)
    for (const [id, use] of this.#open) copy.#open.set(id, use)
    for (const id of this.#asked) copy.#asked.add(id)
    copy.#found.add(this.#found.names)
    for (const [id, answer] of this.#answers) copy.#answers.set(id, answer)
    copy.#entered = [...this.#entered]
    copy.#isWaiting = this.#isWaiting
    copy.#openRequest = this.#openRequest
    copy.#failed = this.#failed
    copy.#instruction = this.#instruction
    copy.#isRepairing = this.#isRepairing
    copy.#usage = this.#usage
    return copy
  }

  add(event: ReadEvent): void {
    if (isOfThread(event)) return
    this.outcomes.add(event)
    if (endsRun(event) && !budgetReached(event)) {
      this.#prompts.delete(event.prompt_id ?? '')
      this.#dropInstruction()
    }
    switch (event.type) {
      case 'user.message':
        this.#prompts.set(event.prompt_id ?? '', {
          seq: seqOf(event),
          content: event.content,
        })
        break
      case 'session.prompt_ended':
        this.#endPrompt(event)
        break
      case 'span.outcome_evaluation_end':
        this.#instruct(event)
        break
      case 'span.model_request_start':
        this.#begin(event)
        break
      case 'agent.thinking':
      case 'agent.message':
        for (const block of event.content ?? []) this.transcript.add('assistant', block, event)
        break
      case 'agent.tool_use':
        this.#useTool(event, { name: event.name })
        break
      case 'agent.custom_tool_use':
        this.#useTool(event, { name: event.name, isClient: true })
        break
      case 'agent.mcp_tool_use':
        this.#useTool(event, { name: mcpToolName(event.mcp_server_name ?? '', event.name), isMcp: true })
        break
      case 'user.custom_tool_result':
        this.#answers.set(event.custom_tool_use_id, { content: contentOf(event), is_error: event.is_error ?? false })
        break
      case 'agent.tool_result':
        this.#answerTool(event.tool_use_id, event)
        break
      case 'agent.mcp_tool_result':
        this.#answerTool(event.mcp_tool_use_id, event)
        break
      case 'agent.thread_context_compacted':
        this.#compact(event)
        break
      case 'session.status_idle':
        for (const id of awaitedApprovals(event)) this.#asked.add(id)
        this.#isWaiting = awaitedApprovals(event).length > 0
        break
      case 'session.status_running':
        this.#isWaiting = false
        this.#includeAnswers(event)
        break
      case 'session.error':
        this.#fail(event)
        break
      case 'session.usage':
        this.#usage = addUsage(noUsage, event.usage)
        break
      case 'span.model_request_end':
        this.#end(event)
        break
      default:
    }
  }

  /**
   * Returns the sequence numbers of prompt messages and instructions before event `seq` that enter the conversation after
   * it, or have not entered yet.
   */
  waitingAt(seq: number): number[] {
    const late = this.#entered.filter(({ at }) => at >= seq)
    const waiting = [...this.#prompts.values(), ...(this.#instruction ? [this.#instruction] : [])]
    return [...late, ...waiting].map(({ seq: own }) => own).filter(own => own < seq)
  }

  /** Reports whether the prompt was part of a model request. */
  includes(promptId: string): boolean {
    return this.#included.has(promptId)
  }

  /** Tool calls without a result. */
  get openToolUses(): readonly OpenToolUse[] {
    return [...this.#open.values()]
  }

  /** Names of the tools that the model has found with the search, or called without it, in their order. */
  get foundTools(): readonly string[] {
    return this.#found.names
  }

  /** Reports whether the result of a client for the call is known. */
  isAnswered({ eventId = '' }: OpenToolUse): boolean {
    return this.#answers.has(eventId)
  }

  /** Notes a result of a client that was logged during the run. */
  answer({ eventId = '' }: OpenToolUse, { content, is_error }: ClientResult): void {
    this.#answers.set(eventId, { content: contentOf({ content }), is_error })
  }

  /** Reports whether an answer to the tool call of that event was requested. */
  wasRequested(eventId: string): boolean {
    return this.#asked.has(eventId)
  }

  /** True from the request for answers until work continues. */
  get isWaiting(): boolean {
    return this.#isWaiting
  }

  /** Event id of a model request without a recorded end. */
  get openRequest(): string | undefined {
    return this.#openRequest?.id
  }

  /** Failed tries of the next step, including those of earlier runs; undefined when there are none. */
  get failedTries(): FailedTries | undefined {
    return this.#failed
  }

  /** True once the model was asked to repair an invalid answer. */
  get isRepairing(): boolean {
    return this.#isRepairing
  }

  /** Returns the tokens of all model requests of the session, plus those of one more. */
  usageWith(usage: UsageTotals | undefined): UsageTotals {
    return addUsage(this.#usage, usage)
  }

  #begin(event: EventOf<'span.model_request_start'>): void {
    const isAside = event.purpose !== undefined
    this.#openRequest = { id: event.id, isAside }
    if (isAside) return
    if (this.#open.size === 0) this.transcript.beginStep(event)
    if (event.trimmed_until !== undefined) this.transcript.trimUntil(event.trimmed_until)
    if (this.#instruction) {
      const { seq, text } = this.#instruction
      this.#entered.push({ seq, at: seqOf(event) })
      this.transcript.add('user', { type: 'text', text }, event)
      this.#instruction = undefined
    }
    for (const id of event.prompt_ids ?? []) this.#include(id, event)
  }

  #end(event: EventOf<'span.model_request_end'>): void {
    const tokens = this.#openRequest?.isAside ? undefined : tokensInWindow(event.model_usage)
    this.#openRequest = undefined
    if (!event.is_error) this.#failed = undefined
    this.#usage = addUsage(this.#usage, event.model_usage)
    if (tokens !== undefined) this.transcript.count(tokens)
  }

  #fail(event: EventOf<'session.error'>): void {
    const repair = repairInstruction(event)
    if (repair !== undefined) {
      this.#instruction = { seq: seqOf(event), text: repair }
      this.#isRepairing = true
    }
    if (repair !== undefined || evaluationProblem(event) !== undefined) return
    const { retry_status: retry } = event.error
    const at = Date.parse(event.processed_at ?? '')
    if (retry?.type !== 'retrying' || Number.isNaN(at)) this.#failed = undefined
    else this.#failed = { count: retry.attempt ?? 1, since: this.#failed?.since ?? at }
  }

  /** A fork does not continue the prompts of the session that it copies. */
  #endPrompt({ prompt_id = '', reason }: EventOf<'session.prompt_ended'>): void {
    this.#prompts.delete(prompt_id)
    if (reason === 'forked') this.#dropInstruction()
  }

  /** The feedback of a grader is the agent's next turn, which gets its own try to repair an invalid answer. */
  #instruct(event: EventOf<'span.outcome_evaluation_end'>): void {
    this.#dropInstruction()
    const text = instructionAfter(event)
    if (text !== undefined) this.#instruction = { seq: seqOf(event), text }
  }

  #dropInstruction(): void {
    this.#instruction = undefined
    this.#isRepairing = false
  }

  #include(promptId: string, event: ReadEvent): void {
    if (this.#included.has(promptId)) return
    this.#included.add(promptId)
    const prompt = this.#prompts.get(promptId)
    if (!prompt) return
    this.#prompts.delete(promptId)
    this.#entered.push({ seq: prompt.seq, at: seqOf(event) })
    for (const part of prompt.content) this.transcript.add('user', blockOf(part), event)
  }

  #useTool(
    event: EventOf<'agent.tool_use' | 'agent.mcp_tool_use' | 'agent.custom_tool_use'>,
    called: Pick<OpenToolUse, 'name' | 'isMcp' | 'isClient'>,
  ): void {
    const { input, evaluated_permission: permission = 'allow' } = event
    const id = event.tool_use_id ?? event.id ?? ''
    this.#open.set(id, { eventId: event.id, tool_use_id: id, ...called, input, permission })
    if (called.isMcp) this.#found.add([called.name])
    this.transcript.add('assistant', { type: 'tool_use', id, name: called.name, input: sentArguments(input) }, event)
  }

  #answerTool(id: string, event: EventOf<'agent.tool_result' | 'agent.mcp_tool_result'>): void {
    const use = this.#open.get(id)
    if (!use) return
    this.#open.delete(id)
    const content = event.content ?? []
    if (use.name === searchName && !event.is_error) this.#found.add(namesInResult(content))
    const isError = event.is_error ? { is_error: true } : {}
    this.transcript.add('user', { type: 'tool_result', tool_use_id: id, content, ...isError }, event)
  }

  /** In the order of the calls, which is the same whether the results came during the run or were read from the log. */
  #includeAnswers(event: ReadEvent): void {
    for (const use of this.#open.values()) {
      const answer = this.#answers.get(use.eventId ?? '')
      if (!answer) continue
      this.#open.delete(use.tool_use_id)
      const { content, is_error } = answer
      const block = { type: 'tool_result', tool_use_id: use.tool_use_id, content, ...(is_error && { is_error }) }
      this.transcript.add('user', block, event)
    }
    this.#answers.clear()
  }

  #compact(event: ReadEvent): void {
    const compaction = contextCompacted(event)
    if (!compaction) return
    this.transcript.compact(compaction)
    this.#found.putFirst(compaction.found_tools ?? [])
    this.#entered = this.#entered.filter(({ at }) => at >= compaction.kept_from_seq)
    for (const id of compaction.prompt_ids) this.#included.add(id)
  }
}
