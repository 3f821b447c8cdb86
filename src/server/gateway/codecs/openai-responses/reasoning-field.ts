import { isRecord, type Json } from '../../../platform/json.ts'
import type { Note } from './conversion.ts'
import { type Effort, efforts, type ModelTraits, nearestEffort } from './model-traits.ts'

/**
 * The upstream's `reasoning`, from `thinking` and `output_config.effort`; undefined when the client asks for neither, or
 * the model does not reason. A summary is asked for unless the client wants none shown.
 */
export function reasoningField(request: Json, traits: ModelTraits, note: Note): Json | undefined {
  const thinking = isRecord(request['thinking']) ? request['thinking'] : undefined
  const effort = isRecord(request['output_config']) ? (request['output_config']['effort'] ?? undefined) : undefined
  if (!thinking && effort === undefined) return undefined
  const isOff = thinking?.['type'] === 'disabled'
  if (!traits.reasons) {
    if (thinking && !isOff) note('thinking', 'dropped')
    if (effort !== undefined) note('output_config.effort', 'dropped')
    return undefined
  }
  if (isOff) return { effort: settled({ wanted: 'none', path: 'thinking', isExact: true }, traits, note) }
  const wish = wishOf(thinking, effort, note)
  return {
    effort: settled(wish, traits, note),
    ...(thinking?.['display'] !== 'omitted' && { summary: 'auto' }),
  }
}

interface Wish {
  readonly wanted: Effort
  /** What is listed when the model takes another effort, or when the wish itself is a guess. */
  readonly path: string
  readonly isExact: boolean
}

/** A named effort wins over a budget; adaptive thinking without one is our choice. */
function wishOf(thinking: Json | undefined, effort: unknown, note: Note): Wish {
  const budget = thinking?.['budget_tokens']
  const named = efforts.find(known => known === effort)
  if (named) {
    if (budget !== undefined) note('thinking.budget_tokens', `effort_${named}`)
    return { wanted: named, path: 'output_config.effort', isExact: true }
  }
  if (effort !== undefined) note('output_config.effort', 'dropped')
  if (typeof budget !== 'number') return { wanted: 'medium', path: 'thinking', isExact: true }
  return { wanted: effortOf(budget), path: 'thinking.budget_tokens', isExact: false }
}

function effortOf(budgetTokens: number): Effort {
  if (budgetTokens < 8_000) return 'low'
  return budgetTokens < 24_000 ? 'medium' : 'high'
}

function settled({ wanted, path, isExact }: Wish, traits: ModelTraits, note: Note): Effort {
  const effort = nearestEffort(traits, wanted)
  if (!isExact || effort !== wanted) note(path, `effort_${effort}`)
  return effort
}
