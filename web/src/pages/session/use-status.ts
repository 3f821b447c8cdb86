import { useCallback, useMemo, useRef, useState } from 'react'
import { type Status, statusOf } from '../../session-log/status.ts'
import type { View } from '../../session-log/view.ts'

/** A request to stop that the log may not show yet. */
interface Stopping {
  readonly turnKey: string | undefined
  readonly since: string
}

const turnKeyOf = ({ run, turns }: View): string | undefined => run && turns[run.turn]?.key

/** Returns the status of the session, which is "stopping" from the call of `markStopping` until the run ends. */
export function useStatus(view: View): readonly [status: Status, markStopping: () => void] {
  const [stopping, setStopping] = useState<Stopping>()
  const latest = useRef(view)
  latest.current = view
  const markStopping = useCallback(
    () => setStopping({ turnKey: turnKeyOf(latest.current), since: new Date().toISOString() }),
    [],
  )
  const status = useMemo((): Status => {
    const turnKey = turnKeyOf(view)
    const isStopping = stopping !== undefined && turnKey !== undefined && stopping.turnKey === turnKey
    return isStopping ? { word: 'stopping', since: stopping.since } : statusOf(view)
  }, [view, stopping])
  return [status, markStopping]
}
