import { Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { Deferred } from './deferred.tsx'
import css from './page.module.css'

interface Props {
  readonly title: string
  /** What stands beside the title: a state, an id. */
  readonly beside?: ReactNode
  readonly actions?: ReactNode
  /** A row of filters or tabs below the title. */
  readonly toolbar?: ReactNode
  /** True for pages that scroll as a whole; lists scroll inside. */
  readonly isScrolling?: boolean
  readonly children: ReactNode
}

/**
 * The frame of each page: title, actions, toolbar, content. A click that opens the page paints its title first; React
 * draws the rest in slices, so that a long table does not block the browser.
 */
export function Page({ title, beside, actions, toolbar, isScrolling = false, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Switchyard`
  }, [title])
  return (
    <main className={css.page} id="page">
      <header className={css.header}>
        <div className={css.title}>
          <Title order={1} className="clip">
            <bdi>{title}</bdi>
          </Title>
          {beside}
        </div>
        <Deferred>{actions && <div className={css.actions}>{actions}</div>}</Deferred>
      </header>
      <Deferred>{toolbar && <div className={css.toolbar}>{toolbar}</div>}</Deferred>
      <div className={isScrolling ? css.scrolling : css.content}>
        <Deferred>{children}</Deferred>
      </div>
    </main>
  )
}
