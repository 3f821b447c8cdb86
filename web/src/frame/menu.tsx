import { Link, useNavigate } from '@tanstack/react-router'
import { type MouseEvent, useState } from 'react'
import { useOverview } from '../data/live.ts'
import { afterPaint } from '../parts/turns.ts'
import css from './menu.module.css'
import { useMenu } from './pages.ts'

interface Props {
  readonly onNavigate?: () => void
}

/** The main menu. Pages that the person may not use are absent. */
export function Menu({ onNavigate }: Props) {
  const pending = useOverview().data?.approvals.pending ?? 0
  const [pressed, open] = useOpen(onNavigate)
  const groups = useMenu()
  return (
    <nav className={css.menu} aria-label="Pages">
      {groups.map(({ title, pages }) => (
        <div key={title ?? ''} className={css.group}>
          {title !== undefined && <div className={css.heading}>{title}</div>}
          {pages.map(({ path, title: name, icon: Icon }) => (
            <Link
              key={path}
              to={path}
              className={css.link ?? ''}
              activeOptions={{ exact: path === '/', includeSearch: false }}
              data-pressed={path === pressed || undefined}
              onClick={event => open(event, path)}
            >
              <Icon size={16} stroke={1.7} aria-hidden />
              <span className="clip">{name}</span>
              {path === '/console/inbox' && pending > 0 && (
                <span className={css.badge}>
                  {pending}
                  <span className="visually-hidden"> approvals wait</span>
                </span>
              )}
            </Link>
          ))}
        </div>
      ))}
    </nav>
  )
}

/** A click marks its entry at once and opens the page after that: leaving a page with charts takes a moment. */
function useOpen(onNavigate: (() => void) | undefined) {
  const navigate = useNavigate()
  const [pressed, setPressed] = useState<string>()
  const open = (event: MouseEvent, path: string) => {
    const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    if (!isPlain) return
    event.preventDefault()
    setPressed(path)
    afterPaint(() => {
      setPressed(undefined)
      onNavigate?.()
      void navigate({ to: path })
    })
  }
  return [pressed, open] as const
}
