import { Button, UnstyledButton } from '@mantine/core'
import { IconChevronDown, IconChevronRight, IconFile, IconFolder, IconLink } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { WorkspaceFile } from '../../../../../../src/contract/files.ts'
import { bytes } from '../../../../parts/format.ts'
import { Loading, ProblemLine } from '../../../../parts/page-state.tsx'
import { SafeText } from '../../../../parts/safe-text.tsx'
import css from './files.module.css'
import { folderQuery, type Moment } from './queries.ts'

interface Props {
  readonly moment: Moment
  /** Path of the shown file. */
  readonly opened: string | undefined
  readonly onOpen: (file: WorkspaceFile) => void
}

/** The workspace as a tree; a folder is loaded when it is opened. */
export function FileTree(props: Props) {
  return <Folder {...props} path="" />
}

function Folder({ path, ...props }: Props & { readonly path: string }) {
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(
    folderQuery(props.moment, path),
  )
  const entries = data?.pages.flatMap(page => page.data) ?? []
  return (
    <ul className={css.tree}>
      {isPending && <Loading lines={2} />}
      <ProblemLine error={error} />
      {data && entries.length === 0 && <li className="soft">Empty folder</li>}
      {entries.map(entry => (
        <Entry key={entry.path} entry={entry} {...props} />
      ))}
      {hasNextPage && (
        <Button variant="subtle" size="compact-xs" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Load more files
        </Button>
      )}
    </ul>
  )
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

function Entry({ entry, ...props }: Props & { readonly entry: WorkspaceFile }) {
  // A folder that contains the shown file is open, so that a pasted link shows where the file is.
  const [isOpen, setOpen] = useState(props.opened?.startsWith(`${entry.path}/`) ?? false)
  const name = nameOf(entry.path)
  if (entry.type === 'link') {
    return (
      <li className={css.entry}>
        <IconLink size={14} aria-label="Link" />
        <span className="clip">
          <SafeText text={`${name} → ${entry.target ?? ''}`} />
        </span>
      </li>
    )
  }
  if (entry.type === 'folder') {
    const Chevron = isOpen ? IconChevronDown : IconChevronRight
    return (
      <li>
        <UnstyledButton className={css.entry} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Chevron size={14} aria-hidden />
          <IconFolder size={14} aria-hidden />
          <span className="clip">
            <SafeText text={name} />
          </span>
        </UnstyledButton>
        {isOpen && <Folder path={entry.path} {...props} />}
      </li>
    )
  }
  return (
    <li>
      <FileLine entry={entry} name={name} opened={props.opened} onOpen={props.onOpen} />
    </li>
  )
}

interface LineProps extends Pick<Props, 'opened' | 'onOpen'> {
  readonly entry: WorkspaceFile
  readonly name: string
}

/** A file that opens at a click. */
export function FileLine({ entry, name, opened, onOpen }: LineProps) {
  const isShown = opened === entry.path
  return (
    <UnstyledButton
      className={css.entry}
      data-shown={isShown || undefined}
      aria-current={isShown || undefined}
      title={entry.path}
      onClick={() => onOpen(entry)}
    >
      <IconFile size={14} aria-hidden />
      <span className="clip">
        <SafeText text={name} />
      </span>
      <span className={`${css.size} soft numbers`}>{bytes(entry.size ?? 0)}</span>
    </UnstyledButton>
  )
}
