import { Drawer } from '@mantine/core'
import { useLocalStorage, useMediaQuery } from '@mantine/hooks'
import { type KeyboardEvent, lazy, type PointerEvent, Suspense } from 'react'
import { Loading } from '../../parts/page-state.tsx'
import type { InspectorProps } from './inspector/inspector-props.ts'
import css from './viewer.module.css'

const Inspector = lazy(() => import('./inspector/inspector.tsx').then(module => ({ default: module.Inspector })))

const minWidth = 280
const maxWidth = 900
const stepPx = 24

interface Props extends InspectorProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

/** The place of the inspector: at the right, resizable; in a drawer on narrow screens. */
export function InspectorSlot({ isOpen, onClose, ...props }: Props) {
  const isWide = useMediaQuery('(min-width: 1100px)', true, { getInitialValueInEffect: false })
  const content = (
    <Suspense fallback={<Loading />}>
      <Inspector {...props} />
    </Suspense>
  )
  if (isWide) return isOpen ? <Resizable>{content}</Resizable> : null
  return (
    <Drawer
      opened={isOpen}
      onClose={onClose}
      title="Inspector"
      size="min(480px, 100%)"
      classNames={{ content: css.drawer ?? '', body: css.drawerBody ?? '' }}
    >
      {content}
    </Drawer>
  )
}

function Resizable({ children }: { readonly children: React.ReactNode }) {
  const [stored, setWidth] = useLocalStorage({
    key: 'switchyard-inspector-width',
    defaultValue: 400,
    getInitialValueInEffect: false,
  })
  const width = Number.isFinite(stored) ? stored : 400
  const resize = (next: number) => setWidth(Math.round(Math.min(maxWidth, Math.max(minWidth, next))))
  const onPointerDown = (event: PointerEvent<HTMLElement>) => event.currentTarget.setPointerCapture(event.pointerId)
  const onPointerMove = (event: PointerEvent<HTMLElement>) => {
    if (event.currentTarget.hasPointerCapture(event.pointerId)) resize(window.innerWidth - event.clientX)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: stepPx, ArrowRight: -stepPx }[event.key]
    if (step === undefined) return
    event.preventDefault()
    resize(width + step)
  }
  return (
    <>
      <div
        className={css.handle}
        role="separator"
        tabIndex={0}
        aria-label="Width of the inspector"
        aria-orientation="vertical"
        aria-valuenow={width}
        aria-valuemin={minWidth}
        aria-valuemax={maxWidth}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onKeyDown={onKeyDown}
      />
      <aside className={css.inspector} style={{ width }} aria-label="Inspector">
        {children}
      </aside>
    </>
  )
}
