import { Button, Text } from '@mantine/core'
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Freeze } from '../../../../src/contract/controls.ts'
import { client } from '../../data/client.ts'
import { useOverview } from '../../data/live.ts'
import { Time } from '../../parts/figures.tsx'
import { money, plural } from '../../parts/format.ts'
import { ProblemBlock, ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { Section } from '../../parts/section.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { StopAll } from '../../parts/stop-all.tsx'
import { FreezeForm } from './freeze-form.tsx'
import { freezesQuery } from './queries.ts'
import css from './settings.module.css'

/** Stops what runs, and keeps more from starting. To end everything at once: freeze first, then stop. */
export function KillSwitches() {
  const running = useOverview().data?.running
  const count = running?.running_sessions ?? 0
  return (
    <Section
      title="Kill switches"
      isBoxed
      actions={
        <>
          <span className="soft numbers">
            {count === 0 ? 'no session runs' : `${plural(count, 'session')} running`}
            {running?.cost_per_minute != null && ` · ${money(running.cost_per_minute)} a minute`}
          </span>
          <StopAll running={count} />
        </>
      }
    >
      <Text size="sm" c="dimmed">
        A stop ends what runs now. A freeze rejects new model calls and pauses runs until it is lifted. To end
        everything at once, freeze all spending first, then stop all sessions.
      </Text>
      <Freezes />
      <FreezeForm />
    </Section>
  )
}

function Freezes() {
  const { data, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery(freezesQuery)
  if (error && !data) return <ProblemBlock error={error} what="load the freezes" retry={() => void refetch()} />
  const freezes = data?.pages.flatMap(page => page.freezes) ?? []
  if (freezes.length === 0) return null
  return (
    <div>
      {freezes.map(freeze => (
        <FreezeRow key={freeze.id} freeze={freeze} />
      ))}
      {hasNextPage && (
        <Button variant="subtle" onClick={() => void fetchNextPage()}>
          Show more freezes
        </Button>
      )}
    </div>
  )
}

function FreezeRow({
  freeze: { id, scope, scope_id: subject, reason, created_at: at, created_by: by },
}: {
  readonly freeze: Freeze
}) {
  const queries = useQueryClient()
  const lift = useMutation({
    mutationFn: () => client.controls.unfreeze({ params: { freeze_id: id } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['freezes'] }),
  })
  return (
    <div className={css.freeze}>
      <StatePill state="waiting" word="frozen" />
      <span className={css.grow}>
        <Subject scope={scope} subject={subject} />
        {reason !== null && (
          <>
            {': '}
            <SafeText text={reason} />
          </>
        )}
        <span className="soft">
          {' '}
          · <Time at={at} /> by <SafeText text={by} />
        </span>
      </span>
      <Button variant="default" loading={lift.isPending} onClick={() => lift.mutate()}>
        Lift freeze
      </Button>
      {lift.error && <ProblemLine error={lift.error} />}
    </div>
  )
}

function Subject({ scope, subject }: { readonly scope: Freeze['scope']; readonly subject: string | null }) {
  if (scope === 'all' || subject === null) return <b>all spending</b>
  if (scope === 'owner') {
    return (
      <>
        owner <SafeText text={subject} />
      </>
    )
  }
  return (
    <>
      key{' '}
      <Link to="/console/keys" search={{ open: subject }} className="mono">
        {subject}
      </Link>
    </>
  )
}
