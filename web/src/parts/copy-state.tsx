import type { CopyState as State } from '../../../src/contract/skills.ts'
import type { StateName } from '../theme.ts'
import { StatePill } from './state-pill.tsx'

const states: Readonly<Record<State, readonly [StateName, string]>> = {
  current: ['done', 'as the library'],
  outdated: ['waiting', 'older than the library'],
  edited: ['attention', 'edited in the prompt'],
  not_in_library: ['stopped', 'not in your library'],
}

/** How an agent's copy of a skill relates to the library. */
export function CopyState({ state }: { readonly state: State }) {
  const [name, word] = states[state]
  return <StatePill state={name} word={word} />
}
