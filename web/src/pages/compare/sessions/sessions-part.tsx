import { Button } from '@mantine/core'
import { IconRepeat, IconSwitchHorizontal } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAddress } from '../../../parts/address.ts'
import { ChangeDialog, MayChange } from '../../../parts/may-change.tsx'
import { Empty, Loading, ProblemBlock } from '../../../parts/page-state.tsx'
import css from '../compare.module.css'
import { logQuery, summaryQuery } from '../queries.ts'
import { Comparison } from './comparison.tsx'
import { RerunForm } from './rerun-form.tsx'
import { SessionSelect } from './session-select.tsx'

/** Chooses two sessions, compares them, and runs a prompt of the first again. */
export function SessionsPart() {
  const [{ a, b, rerun }, setAddress] = useAddress<'a' | 'b' | 'rerun'>()
  // A link may open the form; "back" must not open it again.
  const [isFormOpen, setFormOpen] = useState(rerun === '1')
  return (
    <>
      <div className={css.choices}>
        <SessionSelect label="Session A" value={a} onChange={next => setAddress({ a: next })} />
        <SessionSelect label="Session B" value={b} onChange={next => setAddress({ b: next })} />
        <div className={css.facts}>
          {a !== undefined && (
            <MayChange>
              <Button leftSection={<IconRepeat size={14} aria-hidden />} onClick={() => setFormOpen(true)}>
                Re-run prompt of A
              </Button>
            </MayChange>
          )}
          {a !== undefined && b !== undefined && (
            <Button
              variant="default"
              leftSection={<IconSwitchHorizontal size={14} aria-hidden />}
              onClick={() => setAddress({ a: b, b: a })}
            >
              Swap sessions
            </Button>
          )}
        </div>
      </div>
      {a === undefined || b === undefined ? (
        <Empty
          title={a === undefined ? 'Choose two sessions' : 'Choose session B'}
          link={<a href="/docs">API reference</a>}
        >
          See what another model or another version of the agent did with the same prompts: answers, tools, files, time
          and cost.
        </Empty>
      ) : (
        <BothLoaded a={a} b={b} />
      )}
      {isFormOpen && a !== undefined && (
        <ChangeDialog title="Re-run a prompt" right="Viewers cannot re-run prompts" onClose={() => setFormOpen(false)}>
          <RerunForm
            sessionId={a}
            onClose={() => setFormOpen(false)}
            onStarted={id => {
              setFormOpen(false)
              setAddress({ b: id, rerun: undefined }, { isStep: true })
            }}
          />
        </ChangeDialog>
      )}
    </>
  )
}

function BothLoaded({ a, b }: { readonly a: string; readonly b: string }) {
  const sessionA = useQuery(summaryQuery(a))
  const sessionB = useQuery(summaryQuery(b))
  const logA = useQuery(logQuery(a))
  const logB = useQuery(logQuery(b))
  const failed = [sessionA, sessionB, logA, logB].find(({ error, data }) => error && !data)
  if (failed) {
    return <ProblemBlock error={failed.error} what="load the sessions" retry={() => void failed.refetch()} />
  }
  if (!sessionA.data || !sessionB.data || !logA.data || !logB.data) return <Loading />
  return (
    <Comparison
      a={{ id: a, session: sessionA.data, view: logA.data }}
      b={{ id: b, session: sessionB.data, view: logB.data }}
    />
  )
}
