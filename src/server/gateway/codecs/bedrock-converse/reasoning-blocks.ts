import { type Json, textOf } from '../../../platform/json.ts'
import { sealPrefix } from '../../translated/reasoning-seal.ts'
import type { Conversion, Placed } from './conversion.ts'
import { restored } from './reasoning-state.ts'

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
