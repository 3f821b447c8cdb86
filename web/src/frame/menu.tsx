import { Link } from '@tanstack/react-router'
import { useOverview } from '../data/live.ts'
import { useIsAdmin } from '../data/sign-in.tsx'
import css from './menu.module.css'
import { menu } from './pages.ts'

interface Props {
  readonly onNavigate?: () => void
}

/** The main menu. Pages of administrators are absent for other keys. */
export function Menu({ onNavigate }: Props) {
  const isAdmin = useIsAdmin()
  const pending = useOverview().data?.approvals.pending ?? 0
  const groups = menu
    .map(group => ({ ...group, pages: group.pages.filter(page => isAdmin || !page.isAdmin) }))
    .filter(({ pages }) => pages.length > 0)
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
              {...(onNavigate && { onClick: onNavigate })}
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
