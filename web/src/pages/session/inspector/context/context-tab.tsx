import { useQuery } from '@tanstack/react-query'
import type { SessionContext } from '../../../../../../src/contract/contexts.ts'
import { Facts } from '../../../../parts/facts.tsx'
import { Time } from '../../../../parts/figures.tsx'
import { count } from '../../../../parts/format.ts'
import { Loading, ProblemBlock } from '../../../../parts/page-state.tsx'
import { SafeText } from '../../../../parts/safe-text.tsx'
import { Section } from '../../../../parts/section.tsx'
import css from '../inspector.module.css'
import type { InspectorProps } from '../inspector-props.ts'
import { contextQuery } from '../queries.ts'
import { Compactions } from './compactions.tsx'
import { ContextSizes } from './context-sizes.tsx'
import { Memories } from './memories.tsx'
import { Parts, Tools } from './parts.tsx'

/** What the next model request contains, and what fills it. */
export function ContextTab({ sessionId, selection }: InspectorProps) {
  const { data, error, refetch } = useQuery(contextQuery(sessionId))
  if (error && !data) return <ProblemBlock error={error} what="load the context" retry={() => void refetch()} />
  if (!data) return <Loading />
  return (
    <div className={css.scroller}>
      <Section title="Next model request">
        <ContextSizes context={data} />
        {data.notes.map(note => (
          <p key={note} className="soft">
            <SafeText text={note} />
          </p>
        ))}
      </Section>
      <Section title="Parts of the prompt">
        <Parts parts={data.parts} />
      </Section>
      <Section title="Memories">
        <Memories memories={data.memories} />
      </Section>
      <LastRequest context={data} />
      <Section title="Compactions">
        <Compactions compactions={data.compactions} onSelect={selection.select} />
      </Section>
      <Section title="Tools">
        <Tools tools={data.tools} />
      </Section>
    </div>
  )
}

function LastRequest({ context: { last_request: last } }: { readonly context: SessionContext }) {
  if (!last) return null
  const { model, input_tokens: input, cached_tokens: cached, output_tokens: output, at } = last
  return (
    <Section title="Last model request">
      <Facts
        of={[
          ['Model', <SafeText key="model" text={model} />],
          ['At', <Time key="at" at={at} />],
          ['Input', input === null ? 'not answered yet' : `${count(input)} tokens (${count(cached ?? 0)} cached)`],
          ['Output', output !== null && `${count(output)} tokens`],
        ]}
      />
    </Section>
  )
}
