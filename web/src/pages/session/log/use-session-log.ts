import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { client } from '../../../data/client.ts'
import { reportError } from '../../../data/queries.ts'
import type { LogState } from './log-state.ts'
import { SessionSource } from './session-source.ts'

/** A hidden tab keeps its stream this long: browsers allow few connections to one host. */
const hiddenMs = 30_000
/** Browsers do not paint hidden tabs. */
const hiddenPaintMs = 250

function beforePaint(run: () => void): void {
  if (document.visibilityState === 'visible') requestAnimationFrame(run)
  else setTimeout(run, hiddenPaintMs)
}

/** Returns the log of a session, which follows its stream, and the source that loads older events. */
export function useSessionLog(sessionId: string): readonly [LogState, SessionSource] {
  const source = useMemo(
    () => new SessionSource({ client, sessionId, schedule: beforePaint, onError: reportError }),
    [sessionId],
  )
  useEffect(() => {
    source.start()
    return () => source.stop()
  }, [source])
  useVisibility(source)
  const state = useSyncExternalStore(source.subscribe, () => source.state)
  return [state, source]
}

/** Stops the stream of a tab that stays hidden, and starts it when the tab is shown or the network is back. */
function useVisibility(source: SessionSource): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const onVisibility = () => {
      clearTimeout(timer)
      if (document.visibilityState === 'hidden') timer = setTimeout(() => source.stop(), hiddenMs)
      else if (source.state.connection.name === 'asleep') source.start()
    }
    const onOnline = () => {
      if (source.state.connection.name === 'lost') source.reconnect()
    }
    document.addEventListener('visibilitychange', onVisibility)
    window.addEventListener('online', onOnline)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onVisibility)
      window.removeEventListener('online', onOnline)
    }
  }, [source])
}
