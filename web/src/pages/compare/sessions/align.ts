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

/** Returns the places of a longest common sequence. */
function commonPlaces(a: readonly string[], b: readonly string[]): (readonly [number, number])[] {
  const width = b.length + 1
  const lengths = new Uint32Array((a.length + 1) * width)
  const at = (x: number, y: number): number => lengths[x * width + y] ?? 0
  for (let x = a.length - 1; x >= 0; x--) {
    for (let y = b.length - 1; y >= 0; y--) {
      lengths[x * width + y] = a[x] === b[y] ? at(x + 1, y + 1) + 1 : Math.max(at(x + 1, y), at(x, y + 1))
    }
  }
  const places: (readonly [number, number])[] = []
  let [x, y] = [0, 0]
  while (x < a.length && y < b.length) {
    if (a[x] === b[y]) places.push([x++, y++])
    else if (at(x + 1, y) >= at(x, y + 1)) x++
    else y++
  }
  return places
}
