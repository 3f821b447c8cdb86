import { Title, Tooltip } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { AgentContext, ContextPart, ContextTool } from '../../../../src/contract/contexts.ts'
import { count, plural } from '../../parts/format.ts'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import css from './agent.module.css'
import { FoldedText } from './folded-text.tsx'
import { contextQuery } from './queries.ts'
import { StaleNotice } from './stale-notice.tsx'
import type { Editing } from './use-draft.ts'

/** The prompt as the model gets it in a new session, with the origin and the size of each part in the margin. */
export function ContextPane({ editing }: { readonly editing: Editing }) {
  const { agent, changes, isStale } = editing
  const { data, error, refetch } = useQuery(contextQuery(agent.id, agent.version))
  return (
    <section className={css.context} aria-label="Prompt as the model gets it">
      <div className={css.contextHead}>
        <Title order={2}>What the model gets</Title>
        {data && <Size context={data} />}
      </div>
      {isStale && <StaleNotice editing={editing} />}
      {changes.length > 0 && !isStale && (
        <p className="soft">This is the saved version {agent.version}, without your unsaved changes.</p>
      )}
      {data ? (
        <Parts context={data} />
      ) : error ? (
        <ProblemBlock error={error} what="show the prompt" retry={() => void refetch()} />
      ) : (
        <Loading />
      )}
    </section>
  )
}

function Size({ context: { estimated_tokens: tokens, context_window: window } }: { readonly context: AgentContext }) {
  const share = window === null ? '' : ` of ${count(window)}`
  return (
    <Tooltip label="Estimated from the number of bytes: all parts below, and the tools that the model sees">
      <span className="soft numbers" tabIndex={0}>
        about {count(tokens)}
        {share} tokens
      </span>
    </Tooltip>
  )
}

function Parts({ context: { parts, tools, memories, notes } }: { readonly context: AgentContext }) {
  const injected = memories.filter(memory => memory.injected).length
  const numbered = parts.map((part, at) => ({ at, part }))
  return (
    <>
      {parts.length === 0 && <p className="soft">No prompt: the model gets only what sessions say.</p>}
      {numbered.map(({ at, part }) => (
        <div key={at} className={css.part} data-kind={part.kind}>
          <Margin part={part} injected={injected} />
          <FoldedText text={part.text.trim()} className={css.text ?? ''} />
        </div>
      ))}
      <Tools tools={tools} />
      {notes.map(note => (
        <p key={note} className="soft">
          <SafeText text={note} />
        </p>
      ))}
    </>
  )
}

const titles: Readonly<Record<ContextPart['kind'], string>> = {
  system: 'Prompt',
  skill: 'Skill',
  environment: 'Environment',
  memories: 'Memories',
  application: 'Application',
  failed_tools: 'Missing tools',
  output_schema: 'Typed result',
  prompt: 'First message',
}

function Margin({ part, injected }: { readonly part: ContextPart; readonly injected: number }) {
  return (
    <div className={css.margin}>
      <b>{titles[part.kind]}</b>
      {part.kind === 'skill' && part.source_id !== null && (
        <Link to="/console/skills" search={{ open: part.source_id }}>
          <SafeText text={part.name ?? part.source_id} />
        </Link>
      )}
      {part.kind === 'memories' && part.source_id !== null && (
        <Link to="/console/memories" search={{ agent: part.source_id, preview: '1' }}>
          {injected === 1 ? '1 memory' : `${injected} memories`}
        </Link>
      )}
      <div className="soft numbers">{count(part.estimated_tokens)} tokens</div>
    </div>
  )
}

function Tools({ tools }: { readonly tools: readonly ContextTool[] }) {
  const shown = tools.filter(tool => tool.is_shown)
  const tokens = shown.reduce((sum, tool) => sum + tool.estimated_tokens, 0)
  return (
    <div className={css.part} data-kind="tools">
      <div className={css.margin}>
        <b>Tools</b>
        <div className="soft numbers">{count(tokens)} tokens</div>
      </div>
      {tools.length === 0 ? (
        <span className="soft">No tools</span>
      ) : (
        <details>
          <summary className={css.summary}>
            {plural(shown.length, 'tool')}
            {tools.length > shown.length && `, ${tools.length - shown.length} not shown to the model`}
          </summary>
          <div className={css.tools}>
            {tools.map(({ name, policy, is_shown: isShown, estimated_tokens: size }) => (
              <ToolRow key={name} name={name} state={isShown ? policy : `${policy}, not shown`} size={size} />
            ))}
          </div>
        </details>
      )}
    </div>
  )
}

interface ToolRowProps {
  readonly name: string
  readonly state: string
  readonly size: number
}

function ToolRow({ name, state, size }: ToolRowProps) {
  return (
    <>
      <span className="mono">
        <SafeText text={name} />
      </span>
      <span className="soft">{state}</span>
      <span className="soft numbers">{count(size)}</span>
    </>
  )
}
