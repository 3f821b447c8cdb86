import { Button, Group, Radio } from '@mantine/core'
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { AgentVersion } from '../../../../src/contract/agents.ts'
import { agentQuery, agentsKey } from '../../data/agents.ts'
import { client } from '../../data/client.ts'
import { useAddress } from '../../parts/address.ts'
import { Time } from '../../parts/figures.tsx'
import { MayChange } from '../../parts/may-change.tsx'
import { showProblem } from '../../parts/notices.ts'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import css from './agent.module.css'
import { ServerChanges } from './change-list.tsx'
import { versionDiffQuery, versionsQuery } from './queries.ts'
import { RollBack } from './roll-back.tsx'
import type { Editing } from './use-draft.ts'

/** All versions of an agent: compare two, make an earlier one current, choose the one that sessions run. */
export function VersionsTab({ editing }: { readonly editing: Editing }) {
  const { agent } = editing
  const queries = useQueryClient()
  const [address, setAddress] = useAddress<'from' | 'to'>()
  const [chosen, setChosen] = useState<AgentVersion>()
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    versionsQuery(agent.id),
  )
  const to = numberIn(address.to) ?? agent.version
  const from = numberIn(address.from) ?? Math.max(1, to - 1)
  const pinned = agent.config['pinned_version']
  const versions = data?.pages.flatMap(page => page.versions) ?? []
  const pin = async (version: number | null) => {
    try {
      const body = { name: agent.name, owner_id: agent.owner_id ?? '', config: { pinned_version: version } }
      queries.setQueryData(
        agentQuery(agent.id).queryKey,
        await client.agents.update({ params: { agent_id: agent.id }, body }),
      )
      await queries.invalidateQueries({ queryKey: agentsKey })
    } catch (failure) {
      showProblem('choose the version of new sessions', failure)
    }
  }
  if (error) return <ProblemBlock error={error} what="load the versions" retry={() => void refetch()} />
  if (!data) return <Loading />
  return (
    <>
      {typeof pinned === 'number' && (
        <Group gap="sm" mb="md" className={css.conflict}>
          <span>New sessions run version {pinned}, not the current one.</span>
          <MayChange>
            <Button variant="default" size="compact-xs" onClick={() => void pin(null)}>
              Run the current version
            </Button>
          </MayChange>
        </Group>
      )}
      <Comparison agentId={agent.id} from={from} to={to} />
      <div className={css.versionHead} aria-hidden>
        <span>from</span>
        <span>to</span>
        <span>version</span>
      </div>
      <div role="list" aria-label="Versions">
        {versions.map(version => (
          <VersionRow
            key={version.version}
            version={version}
            isCurrent={version.version === agent.version}
            isPinned={version.version === pinned}
            from={from}
            to={to}
            onFrom={() => setAddress({ from: String(version.version) })}
            onTo={() => setAddress({ to: String(version.version) })}
            onRollBack={() => setChosen(version)}
            onPin={() => void pin(version.version)}
          />
        ))}
      </div>
      {hasNextPage && (
        <Button variant="default" mt="md" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show older versions
        </Button>
      )}
      {chosen && <RollBack editing={editing} version={chosen.version} onClose={() => setChosen(undefined)} />}
    </>
  )
}

const numberIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined

interface ComparisonProps {
  readonly agentId: string
  readonly from: number
  readonly to: number
}

function Comparison({ agentId, from, to }: ComparisonProps) {
  const isOne = from === to
  const { data, error, refetch } = useQuery({ ...versionDiffQuery(agentId, { from, to }), enabled: !isOne })
  return (
    <section aria-label="Comparison">
      <div className={css.changeName}>{isOne ? `Version ${to}` : `From version ${from} to ${to}`}</div>
      {isOne ? (
        <span className="soft">
          {to === 1 ? 'The first version. There is none before it.' : 'The same version twice.'}
        </span>
      ) : error ? (
        <ProblemBlock error={error} what="compare the versions" retry={() => void refetch()} />
      ) : data ? (
        <ServerChanges changes={data.changes} />
      ) : (
        <Loading lines={3} />
      )}
    </section>
  )
}

interface RowProps {
  readonly version: AgentVersion
  readonly isCurrent: boolean
  readonly isPinned: boolean
  readonly from: number
  readonly to: number
  readonly onFrom: () => void
  readonly onTo: () => void
  readonly onRollBack: () => void
  readonly onPin: () => void
}

function VersionRow(props: RowProps) {
  const { version, isCurrent, isPinned, from, to, onFrom, onTo, onRollBack, onPin } = props
  const { version: number, created_at: created, note, created_by: author } = version
  return (
    <div className={css.version} role="listitem">
      <Radio
        aria-label={`Compare from version ${number}`}
        name="from"
        checked={from === number}
        onChange={onFrom}
        size="xs"
      />
      <Radio aria-label={`Compare to version ${number}`} name="to" checked={to === number} onChange={onTo} size="xs" />
      <span>
        <b>v{number}</b>
        {isCurrent && ' · current'}
        {isPinned && ' · new sessions run it'}
        <span className="soft">
          {' · '}
          <Time at={created} />
          {author !== null && (
            <>
              {' · '}
              <SafeText text={author} />
            </>
          )}
        </span>
        {note !== null && (
          <div className={css.note}>
            <SafeText text={note} />
          </div>
        )}
      </span>
      <MayChange>
        <span className={css.actions}>
          {!isPinned && (
            <Button variant="subtle" size="compact-xs" onClick={onPin} aria-label={`Pin version ${number}`}>
              Pin
            </Button>
          )}
          {!isCurrent && (
            <Button
              variant="subtle"
              size="compact-xs"
              onClick={onRollBack}
              aria-label={`Roll back to version ${number}`}
            >
              Roll back…
            </Button>
          )}
        </span>
      </MayChange>
    </div>
  )
}
