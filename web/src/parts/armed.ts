import { type RefObject, useEffect, useState } from 'react'

const armMs = 500
const checkMs = 100
/** Movements of fewer pixels do not mislead a click. */
const tolerance = 2

/**
 * Returns whether an element has stayed in its place for 500 ms. Buttons with consequences act only then, so that a click
 * meant for something else does not hit one that has just moved there.
 */
export function useArmed(element: RefObject<HTMLElement | null>): boolean {
  const [isArmed, setArmed] = useState(false)
  useEffect(() => {
    let before: DOMRect | undefined
    let movedAt = performance.now()
    const check = () => {
      const now = element.current?.getBoundingClientRect()
      if (!now || !before || hasMoved(before, now)) {
        movedAt = performance.now()
        before = now
      }
      setArmed(performance.now() - movedAt >= armMs)
    }
    check()
    const timer = setInterval(check, checkMs)
    return () => clearInterval(timer)
  }, [element])
  return isArmed
}

const hasMoved = (a: DOMRect, b: DOMRect): boolean =>
  Math.abs(a.top - b.top) > tolerance || Math.abs(a.left - b.left) > tolerance
