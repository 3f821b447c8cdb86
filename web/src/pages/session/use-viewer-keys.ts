import { useEffect, useRef } from 'react'
import { isTyping } from '../../parts/keys.ts'
import { useLetterKeys } from '../../parts/letter-keys.ts'

/** What the keys of the viewer do. */
export interface ViewerKeys {
  readonly nextRequest: () => void
  readonly previousRequest: () => void
  readonly nextRow: () => void
  readonly previousRow: () => void
  readonly expand: () => void
  readonly interrupt: () => void
  readonly follow: () => void
  readonly search: () => void
}

const actions: Readonly<Record<string, keyof ViewerKeys>> = {
  n: 'nextRequest',
  p: 'previousRequest',
  j: 'nextRow',
  k: 'previousRow',
  e: 'expand',
  i: 'interrupt',
  '.': 'follow',
  '/': 'search',
}

/** Single keys of the viewer. They are dead inside of fields and dialogs, and can be switched off. */
export function useViewerKeys(keys: ViewerKeys): void {
  const [areLettersOn] = useLetterKeys()
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    if (!areLettersOn) return undefined
    const onKey = (event: KeyboardEvent) => {
      const action = actions[event.key]
      if (!action || event.defaultPrevented || isTyping(event) || document.querySelector('[role="dialog"]')) return
      event.preventDefault()
      latest.current[action]()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [areLettersOn])
}
