import { isRecord, type Json, recordOf, textOf } from '../../../platform/json.ts'
import { sealPrefix } from '../../core/reasoning-seal.ts'
import { isClaudeBefore, isClaudeFrom } from '../../upstream/bedrock.ts'
import type { Conversion, Placed } from './conversion.ts'

/** What a model other than Claude wants back beside its reasoning text. It travels sealed. */
interface ReasoningState {
  readonly signature?: string
  /** Base64, as it came. */
  readonly redacted?: string
}

export const writeState = (state: ReasoningState): string => JSON.stringify(state)

/** The block of Converse that a `thinking` block was made of. */
function restored(state: string, text: string): Json {
  const { signature, redacted } = parsed(state)
  if (redacted !== undefined) return { reasoningContent: { redactedContent: redacted } }
  return { reasoningContent: { reasoningText: { text, ...(signature !== undefined && { signature }) } } }
}

function parsed(state: string): ReasoningState {
  const value: unknown = JSON.parse(state)
  // The seal holds, so it is what `writeState` wrote.
  return isRecord(value) ? (value as ReasoningState) : {}
}

/**
 * An assistant's `thinking` block for Converse, as a list of one or none. Claude's own goes back as it came; other
 * models get what was sealed for them. Reasoning of another provider, or unsigned, is dropped and listed.
 */
export function thinkingBlocks({ block, path }: Placed, { model, reasoning, note }: Conversion): readonly Json[] {
  const text = textOf(block['thinking'])
  const signature = textOf(block['signature'])
  if (model.family === 'claude') {
    if (signature !== '' && !signature.startsWith(sealPrefix))
      return [{ reasoningContent: { reasoningText: { text, signature } } }]
  } else {
    const state = reasoning.open(signature)
    // DeepSeek refuses its own reasoning in a later turn.
    if (state !== undefined && model.family !== 'deepseek') return [restored(state, text)]
  }
  note(path, 'dropped')
  return []
}

/** An assistant's `redacted_thinking` block, which only Claude makes. */
export function redactedBlocks({ block, path }: Placed, { model, note }: Conversion): readonly Json[] {
  const data = textOf(block['data'])
  if (model.family === 'claude' && data !== '') return [{ reasoningContent: { redactedContent: data } }]
  note(path, 'dropped')
  return []
}

/** What a model is told of reasoning, in its own words. */
interface ThinkingSettings {
  /** For `additionalModelRequestFields`. */
  readonly fields: Json
  /** True when Claude thinks: it then has rules for temperature and the like. */
  readonly isThinking: boolean
}

const nothing: ThinkingSettings = { fields: {}, isThinking: false }

/** `thinking` and `output_config.effort` for the model at hand. */
export function thinkingSettings(request: Json, conversion: Conversion): ThinkingSettings {
  const { model, note } = conversion
  const thinking = isRecord(request['thinking']) ? request['thinking'] : undefined
  const effort = recordOf(request['output_config'])['effort']
  if (model.family === 'openai') return openAiEffort({ thinking, effort }, conversion)
  if (model.family !== 'claude') {
    if (thinking && thinking['type'] !== 'disabled') note('thinking', 'dropped')
    if (effort !== undefined) note('output_config.effort', 'dropped')
    return nothing
  }
  const sent = claudeThinking(request, thinking, conversion)
  return {
    fields: { ...(sent && { thinking: sent }), ...claudeEffort(effort, conversion) },
    isThinking: sent !== undefined && sent['type'] !== 'disabled',
  }
}

/** 3.7 began to think, 4.6 to decide by itself how much, and 4.7 no longer takes a budget. */
function claudeThinking(request: Json, thinking: Json | undefined, { model, note }: Conversion): Json | undefined {
  if (!thinking) return undefined
  const { type } = thinking
  if (isClaudeBefore(model, 307)) {
    if (type !== 'disabled') note('thinking', 'dropped')
    return undefined
  }
  if (type === 'enabled' && isClaudeFrom(model, 407)) {
    note('thinking', 'adaptive')
    const { budget_tokens: _, ...rest } = thinking
    return { ...rest, type: 'adaptive' }
  }
  if (type !== 'adaptive' || !isClaudeBefore(model, 406)) return thinking
  const budget = budgetFor(request['max_tokens'])
  note('thinking', budget === undefined ? 'dropped' : 'budget_estimated')
  return budget === undefined ? undefined : { type: 'enabled', budget_tokens: budget }
}

const leastBudget = 1_024
const usualBudget = 16_000

/** Half of what may be written, within what Claude takes; undefined when there is no room for thinking. */
function budgetFor(maxTokens: unknown): number | undefined {
  const half = typeof maxTokens === 'number' ? Math.floor(maxTokens / 2) : 0
  return half < leastBudget ? undefined : Math.min(half, usualBudget)
}

/** Known from 4.6 on. */
function claudeEffort(effort: unknown, { model, note }: Conversion): Json {
  if (effort === undefined || effort === null) return {}
  if (!isClaudeBefore(model, 406)) return { output_config: { effort } }
  note('output_config.effort', 'dropped')
  return {}
}

interface Wish {
  readonly thinking: Json | undefined
  readonly effort: unknown
}

/** OpenAI's models know three steps. */
function openAiEffort({ thinking, effort }: Wish, { note }: Conversion): ThinkingSettings {
  const step = typeof effort === 'string' ? stepOfEffort(effort) : stepOfThinking(thinking)
  if (thinking && thinking['type'] !== 'disabled') note('thinking', `effort_${step ?? 'default'}`)
  if (typeof effort === 'string' && step !== effort) note('output_config.effort', `effort_${step}`)
  return step === undefined ? nothing : { fields: { reasoning_effort: step }, isThinking: false }
}

type Step = 'low' | 'medium' | 'high'

const stepOfEffort = (effort: string): Step => (effort === 'low' || effort === 'medium' ? effort : 'high')

function stepOfThinking(thinking: Json | undefined): Step | undefined {
  if (thinking?.['type'] === 'disabled') return 'low'
  const budget = thinking?.['budget_tokens']
  if (typeof budget !== 'number') return undefined
  if (budget <= 4_000) return 'low'
  return budget <= 16_000 ? 'medium' : 'high'
}
