import { numbered } from '../../../parts/diff-lines.ts'
import { diffLists } from '../../../parts/line-changes.ts'

/** Places in both lists; undefined where one of them has no counterpart. */
export interface Pair {
  readonly a: number | undefined
  readonly b: number | undefined
}

/**
 * Pairs the prompts of two sessions. Equal prompts stand side by side, as many as the order of both allows; what lies
 * between two of these pairs is paired in its order.
 */
export function align(a: readonly string[], b: readonly string[]): Pair[] {
  const pairs: Pair[] = []
  let [fromA, fromB] = [0, 0]
  for (const [atA, atB] of [...commonPlaces(a, b), [a.length, b.length] as const]) {
    for (let place = 0; place < Math.max(atA - fromA, atB - fromB); place++) {
      pairs.push({
        a: fromA + place < atA ? fromA + place : undefined,
        b: fromB + place < atB ? fromB + place : undefined,
      })
    }
    if (atA < a.length && atB < b.length) pairs.push({ a: atA, b: atB })
    ;[fromA, fromB] = [atA + 1, atB + 1]
  }
  return pairs
}

/** Returns the places of the prompts that both lists have, as many as their order allows. */
function commonPlaces(a: readonly string[], b: readonly string[]): (readonly [number, number])[] {
  return numbered(diffLists(a, b)).flatMap(({ before, after }) =>
    before === undefined || after === undefined ? [] : [[before - 1, after - 1] as const],
  )
}
