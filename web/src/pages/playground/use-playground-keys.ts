import { useEffect, useRef } from 'react'

interface Actions {
  readonly send: () => void
  /** Undefined while no answer is running. */
  readonly stop: (() => void) | undefined
}

/** `Ctrl+Enter` sends and `Esc` stops, wherever the focus is. A dialog or an open list takes its keys first. */
export function usePlaygroundKeys(actions: Actions): void {
  const current = useRef(actions)
  current.current = actions
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || isOfOther(event)) return
      const { send, stop } = current.current
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        event.stopPropagation()
        send()
      } else if (event.key === 'Escape') stop?.()
    }
    window.addEventListener('keydown', onKey, { capture: true })
    return () => window.removeEventListener('keydown', onKey, { capture: true })
  }, [])
}

function isOfOther({ target }: KeyboardEvent): boolean {
  const isChoosing = target instanceof Element && target.closest('[aria-expanded="true"], [role="menu"]') !== null
  return isChoosing || document.querySelector('[role="dialog"]') !== null
}
