import { ActionIcon, Title } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { type ReactNode, useEffect, useRef } from 'react'
import css from './side-panel.module.css'

interface Props {
  readonly title: string
  readonly actions?: ReactNode
  readonly onClose: () => void
  readonly children: ReactNode
}

/** An object beside its list, which stays usable. `Esc` closes it and returns the focus to its row. */
export function SidePanel({ title, actions, onClose, children }: Props) {
  const panel = useRef<HTMLElement>(null)
  const close = useRef(onClose)
  close.current = onClose
  useEffect(() => {
    const before = document.activeElement
    const first = panel.current?.querySelector<HTMLElement>('[data-autofocus]')
    ;(first ?? panel.current)?.focus()
    let isOther = false
    // Lists of choices are closed by the time the event arrives at the window.
    const note = (event: KeyboardEvent) => {
      isOther = isOfOther(event)
    }
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !event.defaultPrevented && !isOther) close.current()
    }
    window.addEventListener('keydown', note, { capture: true })
    window.addEventListener('keydown', onKey)
    return () => {
      window.removeEventListener('keydown', note, { capture: true })
      window.removeEventListener('keydown', onKey)
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <aside className={css.panel} ref={panel} tabIndex={-1} aria-label={title}>
      <header className={css.header}>
        <Title order={2} className="clip">
          <bdi>{title}</bdi>
        </Title>
        <div className={css.actions}>
          {actions}
          <ActionIcon aria-label="Close panel" onClick={onClose}>
            <IconX size={16} />
          </ActionIcon>
        </div>
      </header>
      <div className={css.body}>{children}</div>
    </aside>
  )
}

/** True while a dialog or an open list of choices takes the key. */
function isOfOther({ target }: KeyboardEvent): boolean {
  const isChoosing = target instanceof Element && target.closest('[data-mantine-stop-propagation="true"]') !== null
  return isChoosing || document.querySelector('[role="dialog"]') !== null
}

/** A list with room for a panel at its right. */
export function WithPanel({ panel, children }: { readonly panel: ReactNode; readonly children: ReactNode }) {
  return (
    <div className={css.split}>
      <div className={css.list}>{children}</div>
      {panel}
    </div>
  )
}
