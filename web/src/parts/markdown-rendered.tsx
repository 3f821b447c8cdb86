import { IconExternalLink, IconPhotoOff } from '@tabler/icons-react'
import { Children, type ReactNode } from 'react'
import ReactMarkdown, { type Components } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import css from './markdown.module.css'
import { SafeText } from './safe-text.tsx'

const protocols = new Set(['http:', 'https:', 'mailto:'])

/** Returns the address of a link that may be followed; undefined for other protocols and relative addresses. */
function safeUrl(href: string | undefined): URL | undefined {
  const url = href === undefined ? null : URL.parse(href)
  return url && protocols.has(url.protocol) ? url : undefined
}

const marked = (children: ReactNode): ReactNode =>
  Children.map(children, child => (typeof child === 'string' ? <SafeText text={child} /> : child))

const tags = ['p', 'li', 'td', 'th', 'em', 'strong', 'del', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'code'] as const

const withMarks = Object.fromEntries(
  tags.map(Tag => [Tag, ({ children }: { children?: ReactNode }) => <Tag>{marked(children)}</Tag>]),
) as Components

const components: Components = {
  ...withMarks,
  a({ href, children }) {
    const url = safeUrl(href)
    if (!url) return <>{marked(children)}</>
    return (
      <a href={url.href} target="_blank" rel="noopener noreferrer nofollow">
        {marked(children)}
        <span className={css.host}>
          {url.protocol === 'mailto:' ? url.pathname : url.host}
          <IconExternalLink size={12} aria-hidden />
        </span>
      </a>
    )
  },
  img({ src, alt }) {
    const url = typeof src === 'string' ? safeUrl(src) : undefined
    return (
      <span className={css.chip}>
        <IconPhotoOff size={14} aria-hidden />
        image not loaded{url ? ` from ${url.host}` : ''}
        {alt ? `: ${alt}` : ''}
      </span>
    )
  },
  pre: ({ children }) => (
    <pre className={css.pre} tabIndex={0}>
      {children}
    </pre>
  ),
}

/** Loaded on first use. Raw HTML stays text; links show their host; no image is fetched. */
export function MarkdownRendered({ text }: { readonly text: string }) {
  return (
    <ReactMarkdown remarkPlugins={[remarkGfm]} components={components} urlTransform={url => url}>
      {text}
    </ReactMarkdown>
  )
}
