import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { SessionSummary } from '../../../../src/contract/session-summaries.ts'
import { useMayChange } from '../../data/sign-in.tsx'
import { Deferred } from '../../parts/deferred.tsx'
import { MayChange } from '../../parts/may-change.tsx'
import { nextRequest, type Row, rowsOf } from '../../session-log/rows.ts'
import type { View } from '../../session-log/view.ts'
import { Announcer } from './announcer.tsx'
import { Composer } from './composer/composer.tsx'
import { WaitingPrompts } from './composer/waiting-prompts.tsx'
import { CostsContext } from './costs-context.ts'
import { SessionHeader } from './header/session-header.tsx'
import { InspectorSlot } from './inspector-slot.tsx'
import { LiveLine, LoadFailed } from './live-line.tsx'
import { useSessionLog } from './log/use-session-log.ts'
import { type Selection, useSelection, ViewerContext } from './selection.ts'
import { Timeline } from './timeline/timeline.tsx'
import { NoRows } from './transcript/no-rows.tsx'
import { SearchBar } from './transcript/search-bar.tsx'
import { Transcript, type TranscriptHandle } from './transcript/transcript.tsx'
import { type OpenRows, useOpenRows } from './transcript/use-open-rows.ts'
import { type Search, useSearch } from './transcript/use-search.ts'
import { useCosts } from './use-costs.ts'
import { useDeepLink } from './use-deep-link.ts'
import { type Dialogs, useDialogs } from './use-dialogs.ts'
import { useModel } from './use-model.ts'
import { useStatus } from './use-status.ts'
import { useViewerKeys } from './use-viewer-keys.ts'
import css from './viewer.module.css'
import { ViewerDialogs } from './viewer-dialogs.tsx'

/** A session as it was and as it happens: header, timeline, transcript, composer and inspector around one log. */
export function Viewer({ session }: { readonly session: SessionSummary }) {
  const sessionId = session.id
  const mayChange = useMayChange()
  const [{ view, connection, caughtUp, isLoadingOlder, olderError }, source] = useSessionLog(sessionId)
  const selection = useSelection()
  const open = useOpenRows()
  const dialogs = useDialogs()
  const transcript = useRef<TranscriptHandle>(null)
  const [isInspectorOpen, setInspectorOpen] = useState(() => window.innerWidth >= 1100)
  const rows = useMemo(() => rowsOf(view), [view])
  const costs = useCosts(sessionId, view)
  const [status, markStopping] = useStatus(view)
  const { model, loadModel } = useModel(session, view)
  const title = view.title ?? session.title
  const show = useCallback((index: number) => transcript.current?.show(index), [])
  const loadAll = useCallback(() => void source.loadAll(), [source])
  const loadOlder = useCallback(() => void source.loadOlder(), [source])
  const search = useSearch({ rows, isLoading: isLoadingOlder, loadAll, show })
  const jumpTo = useDeepLink({ rows, selection, source, isReady: view.log.count > 0, show })
  const inspected = useMemo(() => ({ ...selection, select: jumpTo }), [selection, jumpTo])
  const context = useContextOf(session, view, dialogs)
  useKeys({ rows, view, selection, open, dialogs, search, transcript, show })
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
            onOpen={dialogs.open}
            onInspector={() => setInspectorOpen(!isInspectorOpen)}
          />
          <Timeline turns={view.turns} log={view.log} selected={selection.eventId} onSelect={jumpTo} />
          <div className={css.split}>
            <div className={css.column}>
              <SearchBar search={search} />
              {olderError !== undefined && (
                <LoadFailed error={olderError} onRetry={search.query.trim() === '' ? loadOlder : loadAll} />
              )}
              {rows.length === 0 ? (
                <NoRows
                  isLoading={connection.name === 'loading' || connection.name === 'asleep'}
                  hasWaiting={view.waiting.length > 0}
                />
              ) : (
                <Transcript
                  rows={rows}
                  selection={selection}
                  open={open}
                  places={search.places}
                  isStart={view.log.firstSeq <= 1}
                  isLoadingOlder={isLoadingOlder}
                  onStart={loadOlder}
                  handle={transcript}
                />
              )}
              <LiveLine connection={connection} caughtUp={caughtUp} onRetry={() => source.reconnect()} />
              <WaitingPrompts sessionId={sessionId} waiting={view.waiting} />
              {mayChange && !view.isDeleted && (
                <Composer sessionId={sessionId} model={model} loadModel={loadModel} isBusy={view.run !== undefined} />
              )}
            </div>
            <Deferred>
              <InspectorSlot
                sessionId={sessionId}
                view={view}
                selection={inspected}
                onLoadAll={loadAll}
                isLoadingOlder={isLoadingOlder}
                isOpen={isInspectorOpen}
                onClose={() => setInspectorOpen(false)}
              />
            </Deferred>
          </div>
          <Announcer view={view} status={status} />
        </main>
        <MayChange>
          <ViewerDialogs
            sessionId={sessionId}
            title={title}
            dialogs={dialogs}
            waiting={view.waiting.length}
            onStopping={markStopping}
          />
        </MayChange>
      </CostsContext>
    </ViewerContext>
  )
}

function useContextOf({ id, runtime }: SessionSummary, view: View, { fork }: Dialogs): ViewerContext {
  const latest = useRef(view)
  latest.current = view
  const { isDeleted } = view
  return useMemo(
    () => ({
      sessionId: id,
      // Other runtimes run their tools themselves and take no arguments of an approver.
      canEdit: runtime === 'builtin',
      isDeleted,
      eventsOf: ids => ids.flatMap(each => latest.current.log.byId(each) ?? []),
      fork,
    }),
    [id, runtime, isDeleted, fork],
  )
}

interface KeyOptions {
  readonly rows: readonly Row[]
  readonly view: View
  readonly selection: Selection
  readonly open: OpenRows
  readonly dialogs: Dialogs
  readonly search: Search
  readonly transcript: RefObject<TranscriptHandle | null>
  readonly show: (index: number) => void
}

function useKeys({ rows, view, selection, open, dialogs, search, transcript, show }: KeyOptions): void {
  const current = () => transcript.current?.current() ?? 0
  useViewerKeys({
    nextRequest: () => show(nextRequest(rows, current(), 'next')),
    previousRequest: () => show(nextRequest(rows, current(), 'previous')),
    nextRow: () => show(current() + 1),
    previousRow: () => show(current() - 1),
    expand: () => {
      const row = rows[current()]
      if (row) open.toggle(row.key)
    },
    interrupt: () => {
      if (view.run) dialogs.open('interrupt')
    },
    follow: () => {
      selection.select(undefined)
      transcript.current?.follow()
    },
    search: search.open,
  })
}
