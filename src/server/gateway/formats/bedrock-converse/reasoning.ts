import { isRecord, type Json, recordOf, textOf } from '../../../platform/json.ts'
import { signaturePrefix } from '../../core/reasoning-signers.ts'
import { isClaudeBefore, isClaudeFrom } from '../../upstream/bedrock.ts'
import type { Conversion, Placed } from './conversion.ts'

/** State that models other than Claude need back with their reasoning text. It is carried in a signature. */
interface ReasoningState {
  readonly signature?: string
  /** Base64, unchanged. */
  readonly redacted?: string
}

export const writeState = (state: ReasoningState): string => JSON.stringify(state)

/** Returns the Converse block from which a `thinking` block was created. */
function restored(state: string, text: string): Json {
  const { signature, redacted } = parsed(state)
  if (redacted !== undefined) return { reasoningContent: { redactedContent: redacted } }
  return { reasoningContent: { reasoningText: { text, ...(signature !== undefined && { signature }) } } }
}

function parsed(state: string): ReasoningState {
  const value: unknown = JSON.parse(state)
  // The signature is valid, so `writeState` wrote this state.
  return isRecord(value) ? (value as ReasoningState) : {}
}

/**
 * Converts a `thinking` block, to a list of at most one. Claude's blocks are sent unchanged; other models get the state
 * in the signature. Unsigned reasoning and that of another provider is dropped and recorded.
 */
export function thinkingBlocks({ block, path }: Placed, { model, reasoning, note }: Conversion): readonly Json[] {
  const text = textOf(block['thinking'])
  const signature = textOf(block['signature'])
  if (model.family === 'claude') {
    if (signature !== '' && !signature.startsWith(signaturePrefix))
      return [{ reasoningContent: { reasoningText: { text, signature } } }]
  } else {
    const state = reasoning.stateOf(signature)
    // DeepSeek rejects its own reasoning in later turns.
    if (state !== undefined && model.family !== 'deepseek') return [restored(state, text)]
  }
  note(path, 'dropped')
  return []
}

/** Converts a `redacted_thinking` block, which only Claude creates. */
export function redactedBlocks({ block, path }: Placed, { model, note }: Conversion): readonly Json[] {
  const data = textOf(block['data'])
  if (model.family === 'claude' && data !== '') return [{ reasoningContent: { redactedContent: data } }]
  note(path, 'dropped')
  return []
}

/** Reasoning settings in the model's own format. */
interface ThinkingSettings {
  /** For `additionalModelRequestFields`. */
  readonly fields: Json
  /** True when Claude thinks. It restricts sampling settings then. */
  readonly isThinking: boolean
}

const noThinking: ThinkingSettings = { fields: {}, isThinking: false }

/** Converts `thinking` and `output_config.effort` for the model. */
export function thinkingSettings(request: Json, conversion: Conversion): ThinkingSettings {
  const { model, note } = conversion
  const thinking = isRecord(request['thinking']) ? request['thinking'] : undefined
  const effort = recordOf(request['output_config'])['effort']
  if (model.family === 'openai') return openAiEffort({ thinking, effort }, conversion)
  if (model.family !== 'claude') {
    if (thinking && thinking['type'] !== 'disabled') note('thinking', 'dropped')
    if (effort !== undefined) note('output_config.effort', 'dropped')
    return noThinking
  }
  const sent = claudeThinking(request, thinking, conversion)
  return {
    fields: { ...(sent && { thinking: sent }), ...claudeEffort(effort, conversion) },
    isThinking: sent !== undefined && sent['type'] !== 'disabled',
  }
}

/** Converts `thinking` for Claude: supported from 3.7, adaptive from 4.6, without a budget from 4.7. */
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

const minBudget = 1_024
const usualBudget = 16_000

/** Returns half of the token limit, within Claude's limits; undefined if the limit is too small for thinking. */
function budgetFor(maxTokens: unknown): number | undefined {
  const half = typeof maxTokens === 'number' ? Math.floor(maxTokens / 2) : 0
  return half < minBudget ? undefined : Math.min(half, usualBudget)
}

/** Returns the effort for Claude, which supports it from 4.6. */
function claudeEffort(effort: unknown, { model, note }: Conversion): Json {
  if (effort === undefined || effort === null) return {}
  if (!isClaudeBefore(model, 406)) return { output_config: { effort } }
  note('output_config.effort', 'dropped')
  return {}
}

interface ReasoningRequest {
  readonly thinking: Json | undefined
  readonly effort: unknown
}

/** Converts the settings to an effort of OpenAI's models, which have three. */
function openAiEffort({ thinking, effort }: ReasoningRequest, { note }: Conversion): ThinkingSettings {
  const step = typeof effort === 'string' ? stepOfEffort(effort) : stepOfThinking(thinking)
  if (thinking && thinking['type'] !== 'disabled') note('thinking', `effort_${step ?? 'default'}`)
  if (typeof effort === 'string' && step !== effort) note('output_config.effort', `effort_${step}`)
  return step === undefined ? noThinking : { fields: { reasoning_effort: step }, isThinking: false }
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
