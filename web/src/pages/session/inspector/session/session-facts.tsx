import { Link } from '@tanstack/react-router'
import type { SessionDetails, SessionSummary } from '../../../../../../src/contract/session-summaries.ts'
import type { ManagedSession } from '../../../../../../src/contract/sessions.ts'
import { JsonBlock } from '../../../../parts/code.tsx'
import { Id } from '../../../../parts/copy.tsx'
import { Facts } from '../../../../parts/facts.tsx'
import { Elapsed, Money, Time } from '../../../../parts/figures.tsx'
import { count, exactCount, plural, shortId } from '../../../../parts/format.ts'
import { SafeText } from '../../../../parts/safe-text.tsx'
import { Section } from '../../../../parts/section.tsx'

/** Who and what the session is, and its totals. */
export function SessionFacts({ session }: { readonly session: SessionDetails }) {
  const { cost_usd: cost, requests, unpriced_requests: unpriced } = session
  return (
    <Facts
      of={[
        ['Id', <Id key="id" id={session.id} what="session id" />],
        ['Owner', <SafeText key="owner" text={session.owner_id === '' ? 'none' : session.owner_id} />],
        ['Agent', session.agent_id !== '' && <AgentLink key="agent" session={session} />],
        ['Created', <Time key="created" at={session.created_at} />],
        ['Changed', <Time key="updated" at={session.updated_at} />],
        ['Running for', session.started_at !== null && <Elapsed key="started" since={session.started_at} />],
        ['Lease', session.lease ? <Lease key="lease" lease={session.lease} /> : 'none; no process runs the session'],
        ['Deleted', session.deleted_at !== null && <Time key="deleted" at={session.deleted_at} />],
        [
          'Cost',
          <span key="cost">
            <Money usd={cost ?? (requests === 0 ? 0 : null)} />
            {unpriced > 0 && <span className="soft"> · the price of {plural(unpriced, 'call')} is unknown</span>}
          </span>,
        ],
        ['Model calls', exactCount(requests)],
        [
          'Tokens',
          `${count(session.input_tokens)} in (${count(session.cached_tokens)} cached), ${count(session.output_tokens)} out`,
        ],
      ]}
    />
  )
}

function Lease({ lease }: { readonly lease: NonNullable<SessionDetails['lease']> }) {
  return (
    <>
      <Id id={lease.owner} what="id of the process" />{' '}
      <span className="soft">
        until <Time at={lease.expires_at} />
      </span>
    </>
  )
}

function AgentLink({ session }: { readonly session: SessionSummary }) {
  const { agent_id: agentId, agent_name: name, agent_version: version } = session
  return (
    <Link to="/console/agents/$agentId" params={{ agentId }}>
      <SafeText text={name ?? shortId(agentId)} />
      {version !== null && <span className="numbers"> version {version}</span>}
    </Link>
  )
}

/** Where the session runs, and how its provider calls it. */
export function ProviderFacts({ session }: { readonly session: ManagedSession }) {
  const { runtime_agent_ref_id: agentRef, provider_session_id: providerId, provider_run_id: runId } = session
  return (
    <Facts
      of={[
        ['Runtime', <SafeText key="runtime" text={session.runtime} />],
        ['Agent at provider', agentRef !== null && <Id key="agent" id={agentRef} what="agent id at the provider" />],
        [
          'Session there',
          providerId !== null && <Id key="session" id={providerId} what="session id at the provider" />,
        ],
        ['Run there', runId !== null && <Id key="run" id={runId} what="run id at the provider" />],
        ['Sandbox', session.sandbox_status],
        ['Workspace', session.workspace !== null && <Path key="workspace" path={session.workspace} />],
        ['Time zone', session.timezone ?? 'UTC'],
      ]}
    />
  )
}

const Path = ({ path }: { readonly path: string }) => (
  <span className="mono">
    <SafeText text={path} />
  </span>
)

/** The sessions and the repository that the session comes from; nothing for a session without one. */
export function OriginFacts({ session }: { readonly session: ManagedSession }) {
  const { forked_from: fork, parent_session_id: parent, repository } = session
  if (!fork && parent === null && !repository) return null
  return (
    <Section title="Origin">
      <Facts
        of={[
          ['Forked from', fork && <SessionLink key="fork" id={fork.session_id} after={fork.seq} />],
          ['Called by', parent !== null && <SessionLink key="parent" id={parent} />],
        ]}
      />
      {repository && <JsonBlock value={repository} what="repository" />}
    </Section>
  )
}

function SessionLink({ id, after }: { readonly id: string; readonly after?: number }) {
  return (
    <Link to="/console/sessions/$sessionId" params={{ sessionId: id }} className="mono">
      {shortId(id)}
      {after !== undefined && <span className="soft"> after event {after}</span>}
    </Link>
  )
}

/** What clients chose for the session: its environment and its metadata. */
export function EnvironmentFields({ session }: { readonly session: ManagedSession }) {
  const { environment, metadata } = session
  return (
    <>
      <Section title="Environment">
        {Object.keys(environment).length === 0 ? (
          <p className="soft">The defaults of the runtime</p>
        ) : (
          <JsonBlock value={environment} what="environment" />
        )}
      </Section>
      {Object.keys(metadata).length > 0 && (
        <Section title="Metadata">
          <Facts of={Object.entries(metadata).map(([name, value]) => [name, <SafeText key={name} text={value} />])} />
        </Section>
      )}
    </>
  )
}
