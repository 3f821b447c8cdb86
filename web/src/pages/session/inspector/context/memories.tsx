import type { ContextMemory } from '../../../../../../src/contract/contexts.ts'
import { count } from '../../../../parts/format.ts'
import { SafeText } from '../../../../parts/safe-text.tsx'
import { StatePill } from '../../../../parts/state-pill.tsx'
import css from './context.module.css'

/** The memories of the agent: which the model gets, and why or why not. */
export function Memories({ memories }: { readonly memories: readonly ContextMemory[] }) {
  if (memories.length === 0) return <p className="soft">The agent has no memories</p>
  return (
    <ul className={css.parts}>
      {memories.map(({ memory, injected, message, estimated_tokens: tokens }) => (
        <li key={memory.id} className={css.memory}>
          <div className={css.memoryHead}>
            <StatePill state={injected ? 'done' : 'stopped'} word={injected ? 'in the prompt' : 'left out'} />
            <span className={`${css.tokens} soft numbers`}>{count(tokens)} tokens</span>
          </div>
          <div className={css.memoryText}>
            <SafeText text={memory.text} />
          </div>
          <div className="soft">
            <SafeText text={message} />
          </div>
        </li>
      ))}
    </ul>
  )
}
