import type { ErrorCode } from '../../../../contract/error-codes.ts'
import { isRecord, type Json, nonEmptyText, recordsOf } from '../../../platform/json.ts'
import { exactInputsOr } from '../../bytes/exact-numbers.ts'
import type { StopReason, UpstreamEvent } from '../../core/answer-event.ts'
import type { CodecContext, StreamDecoder, UpstreamFrame } from '../../core/codec.ts'
import { geminiUsageReader } from '../../tokens/stated-usage.ts'
import { problemInStream } from './errors.ts'
import { AnswerBlocks } from './read-blocks.ts'

/** Returns the events of a whole answer, which has the format of one chunk. */
export function wholeAnswer(body: unknown, context: CodecContext): readonly UpstreamEvent[] {
  const decoder = new GeminiDecoder(context)
  const events = decoder.pushChunk(body)
  if (events.at(-1)?.type === 'error') return events
  const ending = decoder.end()
  if (ending.length > 0) return [...events, ...ending]
  return [...events, { type: 'error', code: 'upstream_unreachable', message: 'upstream response is incomplete' }]
}

/** Decoder of one streamed answer. Each chunk is a `GenerateContentResponse`. */
export class GeminiDecoder implements StreamDecoder {
  readonly #blocks: AnswerBlocks
  readonly #degradedPaths = new Set<string>()
  readonly #readUsage = geminiUsageReader()
  #hasStarted = false
  #isOver = false
  #finish: Finish | undefined
  #grounding: Json | undefined

  constructor(context: CodecContext) {
    this.#blocks = new AnswerBlocks(context)
  }

  push({ data }: UpstreamFrame): readonly UpstreamEvent[] {
    const text = data.trim()
    if (this.#isOver || text === '' || text === '[DONE]') return []
    return this.pushChunk(exactInputsOr(text, undefined))
  }

  /** Handles a parsed chunk. */
  pushChunk(chunk: unknown): readonly UpstreamEvent[] {
    if (this.#isOver) return []
    const problem = problemInStream(chunk)
    if (problem) return this.#fail(problem.code, problem.message)
    if (!isRecord(chunk)) return this.#fail('upstream_unreachable', 'upstream sent a chunk that is not a JSON object')
    this.#start(chunk)
    const [candidate] = recordsOf(chunk['candidates'])
    if (candidate) this.#read(candidate)
    const feedback = chunk['promptFeedback']
    if (isRecord(feedback) && nonEmptyText(feedback['blockReason']) !== undefined) this.#finish = blocked
    return this.#blocks.take()
  }

  end(): readonly UpstreamEvent[] {
    const finish = this.#finish
    if (this.#isOver || !finish) return []
    if ('fault' in finish) return this.#fail('upstream_unreachable', finish.fault)
    if (finish.isVague && this.#blocks.isEmpty) return this.#fail('upstream_unreachable', unspecified)
    this.#blocks.close()
    this.#addSources()
    if (finish.isVague) this.#degrade('stop_reason', 'approximated')
    this.#isOver = true
    this.#blocks.add({ type: 'stop', reason: finish.stop })
    this.#blocks.add({ type: 'message_stop' })
    return this.#blocks.take()
  }

  #start(chunk: Json): void {
    const usage = this.#readUsage(chunk)
    if (this.#hasStarted) {
      if (usage) this.#blocks.add({ type: 'usage', usage })
      return
    }
    this.#hasStarted = true
    const id = nonEmptyText(chunk['responseId'])
    const model = nonEmptyText(chunk['modelVersion'])
    this.#blocks.add({
      type: 'message_start',
      ...(id !== undefined && { id }),
      ...(model !== undefined && { model }),
      ...(usage && { usage }),
    })
  }

  #read(candidate: Json): void {
    const { content, groundingMetadata: grounding } = candidate
    if (isRecord(content)) for (const part of recordsOf(content['parts'])) this.#readPart(part)
    if (isRecord(grounding)) this.#grounding = { ...this.#grounding, ...grounding }
    const reason = nonEmptyText(candidate['finishReason'])
    // Some models repeat the reason in every chunk, so only the end of the stream ends the answer.
    if (reason !== undefined) this.#finish = finishOf(reason)
  }

  #readPart(part: Json): void {
    const signature = nonEmptyText(part['thoughtSignature'])
    const { text, functionCall: call, executableCode: code, codeExecutionResult: result } = part
    if (isRecord(call)) this.#blocks.call(call, signature)
    else if (isRecord(code)) this.#blocks.text(fenced(code['code'], nonEmptyText(code['language'])), signature)
    else if (isRecord(result)) this.#blocks.text(fenced(result['output']), signature)
    else if (isRecord(part['toolCall']) || isRecord(part['toolResponse'])) this.#blocks.opaque(part)
    else this.#readText(typeof text === 'string' ? text : undefined, part, signature)
  }

  #readText(text: string | undefined, part: Json, signature: string | undefined): void {
    if (text === undefined) {
      for (const kind of ['inlineData', 'fileData', 'videoMetadata']) {
        if (isRecord(part[kind])) this.#degrade(`answer.${kind}`, 'dropped')
      }
    }
    if (part['thought'] === true) this.#blocks.thought(text ?? '', signature)
    else this.#blocks.text(text ?? '', signature)
  }

  #addSources(): void {
    const sources = this.#grounding && sourcesOf(this.#grounding)
    if (sources === undefined) return
    this.#blocks.separateText(sources)
    this.#degrade('answer.groundingMetadata', 'approximated')
  }

  #degrade(path: string, action: string): void {
    if (this.#degradedPaths.has(path)) return
    this.#degradedPaths.add(path)
    this.#blocks.add({ type: 'degraded', path, action })
  }

  #fail(code: ErrorCode, message: string): readonly UpstreamEvent[] {
    this.#isOver = true
    return [...this.#blocks.take(), { type: 'error', code, message }]
  }
}

const unspecified = 'provider ended the response for an unspecified reason'

const fenced = (text: unknown, language = ''): string => {
  const kind = language === 'LANGUAGE_UNSPECIFIED' ? '' : language.toLowerCase()
  return `\n\`\`\`${kind}\n${nonEmptyText(text) ?? ''}\n\`\`\`\n`
}

/** How an answer ended: a canonical stop reason, or a fault of the model. `isVague` marks an approximated reason. */
type Finish = Answered | { readonly fault: string }

interface Answered {
  readonly stop: StopReason
  readonly isVague: boolean
}

const answered = (stop: StopReason): Answered => ({ stop, isVague: false })

/** Finish of a blocked prompt. */
const blocked: Finish = answered('refusal')

const refusals: ReadonlySet<string> = new Set([
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'MODEL_ARMOR',
  'JAILBREAK',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
])

/** Returns true for a `finishReason` that means the model or a safety filter declined to answer. */
export const isDeclinedBy = (reason: string): boolean => refusals.has(reason)

const faults: ReadonlySet<string> = new Set([
  'MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
])

/** Converts a `finishReason`. Gemini does not distinguish a matched stop sequence from other stops. */
function finishOf(reason: string): Finish {
  if (reason === 'STOP') return answered('end_turn')
  if (reason === 'MAX_TOKENS' || reason === 'CONTINUATION') return answered('max_tokens')
  if (refusals.has(reason)) return blocked
  if (faults.has(reason)) return { fault: `model produced an invalid response: ${reason}` }
  return { stop: 'end_turn', isVague: true }
}

/**
 * Returns the cited web pages as text; undefined without pages. Not as Anthropic's citation blocks, which contain state
 * that only Anthropic can create.
 */
function sourcesOf(grounding: Json): string | undefined {
  const pages = new Map<string, string>()
  for (const { web } of recordsOf(grounding['groundingChunks'])) {
    const url = isRecord(web) ? nonEmptyText(web['uri']) : undefined
    if (url !== undefined && isRecord(web)) pages.set(url, nonEmptyText(web['title']) ?? url)
  }
  if (pages.size === 0) return undefined
  return `Sources:\n${[...pages].map(([url, title]) => `- [${title}](${url})`).join('\n')}`
}
