import { promptText as textOfPrompt } from '../../../session-log/tool-text.ts'
import type { Turn } from '../../../session-log/view.ts'
import { align } from './align.ts'

/** Turns of both sessions that stand side by side. */
export interface TurnPair {
  readonly a: Turn | undefined
  readonly b: Turn | undefined
}

export const promptText = ({ prompt }: Turn): string => (prompt ? textOfPrompt(prompt) : '')

/** Pairs the turns of two sessions by their prompts. */
export const pairsOf = (a: readonly Turn[], b: readonly Turn[]): TurnPair[] =>
  align(a.map(promptText), b.map(promptText)).map(pair => ({ a: a[pair.a ?? -1], b: b[pair.b ?? -1] }))

/** Returns the pairs whose prompts are equal: only these can be measured against each other. */
export const equalPairs = (pairs: readonly TurnPair[]): { readonly a: Turn; readonly b: Turn }[] =>
  pairs.flatMap(({ a, b }) => (a && b && promptText(a) === promptText(b) ? [{ a, b }] : []))
