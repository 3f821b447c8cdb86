import { Button } from '@mantine/core'
import { useState } from 'react'
import { useOverview } from '../../data/live.ts'
import { Page } from '../../parts/page.tsx'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { StopAll } from '../../parts/stop-all.tsx'
import { Checklist } from './checklist.tsx'
import { NeedsYou } from './needs-you.tsx'
import css from './overview.module.css'
import { useProgress } from './progress.ts'
import { RunningNow } from './running-now.tsx'
import { Spending } from './spending.tsx'
import { WentWrong } from './went-wrong.tsx'

/** Is anything wrong, does anything wait for me, what does it cost; the steps of a first run until they are done. */
export function OverviewPage() {
  const { data, error, refetch } = useOverview()
  const progress = useProgress()
  const [isListOpen, setListOpen] = useState(false)
  if (!data) {
    return (
      <Page title="Overview">
        {error ? <ProblemBlock error={error} what="load the overview" retry={() => void refetch()} /> : <Loading />}
      </Page>
    )
  }
  if (progress.isLoading) {
    return (
      <Page title="Overview">
        <Loading />
      </Page>
    )
  }
  const isFirstRun = progress.isNew || isListOpen
  const actions = isFirstRun ? (
    <Button
      variant="default"
      onClick={() => {
        setListOpen(false)
        progress.skipAll()
      }}
    >
      Skip set-up
    </Button>
  ) : (
    <>
      {!progress.isDone && (
        <Button variant="subtle" onClick={() => setListOpen(true)}>
          Continue set-up
        </Button>
      )}
      <StopAll running={data.running.running_sessions} />
    </>
  )
  return (
    <Page title={isFirstRun ? 'Set up Switchyard' : 'Overview'} isScrolling actions={actions}>
      {isFirstRun ? (
        <Checklist progress={progress} />
      ) : (
        <div className={css.cards}>
          <NeedsYou approvals={data.approvals} />
          <RunningNow running={data.running} />
          <WentWrong failures={data.failures} />
          <Spending spend={data.spend} budgets={data.budgets} readiness={data.readiness} />
        </div>
      )}
    </Page>
  )
}
