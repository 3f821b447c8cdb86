/**
 * Returns a function that returns a name unchanged if it has not returned it before, else the first free one of those
 * that `numbered` makes of it with the numbers from 2. Takes linear time, however often a name repeats.
 */
export function createUniqueNames(numbered: (name: string, number: number) => string): (name: string) => string {
  const taken = new Set<string>()
  const numbers = new Map<string, number>()
  return name => {
    let free = name
    let number = numbers.get(name) ?? 1
    while (taken.has(free)) free = numbered(name, ++number)
    numbers.set(name, number)
    taken.add(free)
    return free
  }
}
