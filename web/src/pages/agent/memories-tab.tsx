import { useQuery } from '@tanstack/react-query'
import { useMayChange } from '../../data/sign-in.tsx'
import { LinkButton } from '../../parts/link-button.tsx'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import css from './agent.module.css'
import { contextQuery } from './queries.ts'
import type { Editing } from './use-draft.ts'

const shownMemories = 20

/** What a new session would remember; the page of memories has all of them. */
export function MemoriesTab({ editing: { agent } }: { readonly editing: Editing }) {
  const mayChange = useMayChange()
  const { data, error, refetch } = useQuery(contextQuery(agent.id, agent.version))
  if (error) return <ProblemBlock error={error} what="load the memories" retry={() => void refetch()} />
  if (!data) return <Loading />
  const { memories } = data
  const injected = memories.filter(memory => memory.injected).length
  return (
    <>
      <div className={css.contextHead}>
        <span className="soft">
          {memories.length === 0
            ? 'No memories yet. People add them, and the agent does with its tool save_memory.'
            : `A new session gets ${injected} of ${memories.length === 200 ? 'the first 200' : memories.length} memories.`}
        </span>
        <LinkButton variant="default" to="/console/memories" search={{ agent: agent.id }}>
          {mayChange && memories.length === 0 ? 'Add memory' : 'Show memories'}
        </LinkButton>
      </div>
      {memories.slice(0, shownMemories).map(({ memory, injected: isIn, message }) => (
        <div key={memory.id} className={css.row}>
          <span className="clip">
            <SafeText text={memory.text} />
          </span>
          {isIn ? <StatePill state="done" word="in the prompt" /> : <StatePill state="stopped" word={message} />}
        </div>
      ))}
      {memories.length > shownMemories && <p className="soft">And {memories.length - shownMemories} more.</p>}
    </>
  )
}
