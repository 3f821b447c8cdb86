import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { SessionSummary } from '../../../../src/contract/session-summaries.ts'
import { nextRequest, rowsOf } from '../../session-log/rows.ts'
import { type Status, statusOf } from '../../session-log/status.ts'
import type { View } from '../../session-log/view.ts'
import { Announcer } from './announcer.tsx'
import { Composer } from './composer/composer.tsx'
import { WaitingPrompts } from './composer/waiting-prompts.tsx'
import { CostsContext } from './costs-context.ts'
import type { Dialog } from './header/actions.tsx'
import { SessionHeader } from './header/session-header.tsx'
import { InspectorSlot } from './inspector-slot.tsx'
import { LiveLine } from './live-line.tsx'
import { useSessionLog } from './log/use-session-log.ts'
import { agentQuery } from './queries.ts'
import { useSelection, ViewerContext } from './selection.ts'
import { Timeline } from './timeline/timeline.tsx'
import { SearchBar } from './transcript/search-bar.tsx'
import { Transcript, type TranscriptHandle } from './transcript/transcript.tsx'
import { useOpenRows } from './transcript/use-open-rows.ts'
import { useSearch } from './transcript/use-search.ts'
import { useCosts } from './use-costs.ts'
import { useDeepLink } from './use-deep-link.ts'
import { useViewerKeys } from './use-viewer-keys.ts'
import css from './viewer.module.css'
import { ViewerDialogs } from './viewer-dialogs.tsx'

/** A request to stop that the log does not show yet. */
interface Stopping {
  readonly turnKey: string | undefined
  readonly since: string
}

const turnKeyOf = ({ run, turns }: View): string | undefined => run && turns[run.turn]?.key

/** Says "stopping" as soon as the service has accepted the request. */
function statusWith(view: View, stopping: Stopping | undefined): Status {
  const turnKey = turnKeyOf(view)
  const isStopping = stopping !== undefined && turnKey !== undefined && stopping.turnKey === turnKey
  return isStopping ? { word: 'stopping', since: stopping.since } : statusOf(view)
}

/** Returns the model of the last prompt, else that of the agent. */
function useModel(session: SessionSummary, view: View): string | undefined {
  const last = lastModel(view) ?? session.model ?? undefined
  const { data: agent } = useQuery({ ...agentQuery(session.agent_id), enabled: last === undefined })
  return last ?? agent?.model
}

function lastModel({ turns }: View): string | undefined {
  for (const { groups, prompt } of turns.toReversed()) {
    const model = prompt?.model ?? groups.findLast(group => group.model !== undefined)?.model
    if (model !== undefined) return model
  }
  return undefined
}

/** A session as it was and as it happens: header, timeline, transcript, composer and inspector around one log. */
export function Viewer({ session }: { readonly session: SessionSummary }) {
  const sessionId = session.id
  const [{ view, connection, caughtUp, isLoadingOlder }, source] = useSessionLog(sessionId)
  const selection = useSelection()
  const open = useOpenRows()
  const transcript = useRef<TranscriptHandle>(null)
  const [dialog, setDialog] = useState<Dialog>()
  const [forkAt, setForkAt] = useState<string>()
  const [isInspectorOpen, setInspectorOpen] = useState(() => window.innerWidth >= 1100)
  const [stopping, setStopping] = useState<Stopping>()

  const rows = useMemo(() => rowsOf(view), [view])
  const costs = useCosts(sessionId, view)
  const status = useMemo(() => statusWith(view, stopping), [view, stopping])
  const isStart = view.log.firstSeq <= 1
  const title = view.title ?? session.title
  const model = useModel(session, view)

  const show = useCallback((index: number) => transcript.current?.show(index), [])
  const search = useSearch({
    rows,
    isLoading: isLoadingOlder,
    loadAll: () => void source.loadAll(),
    show,
  })
  const jumpTo = useDeepLink({ rows, selection, source, isReady: connection.name !== 'loading', show })
  const onStart = useCallback(() => void source.loadOlder(), [source])
  const openDialog = useCallback((next: Dialog) => {
    setForkAt(undefined)
    setDialog(next)
  }, [])
  const latestView = useRef(view)
  latestView.current = view
  const context = useMemo(
    (): ViewerContext => ({
      sessionId,
      canEdit: session.runtime === 'builtin',
      isDeleted: view.isDeleted,
      eventsOf: ids => ids.flatMap(id => latestView.current.log.byId(id) ?? []),
      forkAt: eventId => {
        setForkAt(eventId)
        setDialog('fork')
      },
    }),
    [sessionId, session.runtime, view.isDeleted],
  )

  const current = () => transcript.current?.current() ?? 0
  useViewerKeys({
    nextRequest: () => show(nextRequest(rows, current(), 'next')),
    previousRequest: () => show(nextRequest(rows, current(), 'previous')),
    nextRow: () => show(current() + 1),
    previousRow: () => show(current() - 1),
    expand: () => open.toggle(rows[current()]?.key ?? ''),
    interrupt: () => view.run && openDialog('interrupt'),
    follow: () => {
      selection.select(undefined)
      transcript.current?.follow()
    },
    search: search.open,
  })
  useEffect(() => {
    document.title = `${title} · Switchyard`
  }, [title])

  return (
    <ViewerContext value={context}>
      <CostsContext value={costs}>
        <main className={css.viewer} id="page">
          <SessionHeader
            session={session}
            title={title}
            status={status}
            model={model}
            isDeleted={view.isDeleted}
            onOpen={openDialog}
            onInspector={() => setInspectorOpen(!isInspectorOpen)}
          />
          <Timeline view={view} selected={selection.eventId} onSelect={jumpTo} />
          <div className={css.split}>
            <div className={css.column}>
              <SearchBar search={search} />
              <Transcript
                rows={rows}
                selection={selection}
                open={open}
                matches={useMemo(() => new Set(search.places), [search.places])}
                isStart={isStart}
                isLoadingOlder={isLoadingOlder}
                onStart={onStart}
                handle={transcript}
              />
              <LiveLine connection={connection} caughtUp={caughtUp} onRetry={() => source.reconnect()} />
              <WaitingPrompts sessionId={sessionId} waiting={view.waiting} />
              {!view.isDeleted && <Composer sessionId={sessionId} model={model} isBusy={view.run !== undefined} />}
            </div>
            <InspectorSlot
              sessionId={sessionId}
              view={view}
              selection={selection}
              isOpen={isInspectorOpen}
              onClose={() => setInspectorOpen(false)}
            />
          </div>
          <Announcer view={view} status={status} />
        </main>
        <ViewerDialogs
          sessionId={sessionId}
          title={title}
          dialog={dialog}
          forkAt={forkAt === undefined ? undefined : view.log.byId(forkAt)}
          waiting={view.waiting.length}
          onStopping={() => setStopping({ turnKey: turnKeyOf(view), since: new Date().toISOString() })}
          onClose={() => setDialog(undefined)}
        />
      </CostsContext>
    </ViewerContext>
  )
}
