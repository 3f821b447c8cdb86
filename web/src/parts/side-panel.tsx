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
    panel.current?.focus()
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || document.querySelector('[role="dialog"]')) return
      close.current()
    }
    window.addEventListener('keydown', onKey)
    return () => {
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

/** A list with room for a panel at its right. */
export function WithPanel({ panel, children }: { readonly panel: ReactNode; readonly children: ReactNode }) {
  return (
    <div className={css.split}>
      <div className={css.list}>{children}</div>
      {panel}
    </div>
  )
}
