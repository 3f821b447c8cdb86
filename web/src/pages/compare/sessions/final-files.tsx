import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { WorkspaceFile } from '../../../../../src/contract/files.ts'
import type { SessionSummary } from '../../../../../src/contract/session-summaries.ts'
import { client } from '../../../data/client.ts'
import { routes } from '../../../data/routes.ts'
import { DiffView } from '../../../parts/diff-view.tsx'
import { type FileContent, fileContentOf, maxShownBytes } from '../../../parts/file-kind.ts'
import { exactCount } from '../../../parts/format.ts'
import { Loading, ProblemBlock, ProblemLine } from '../../../parts/page-state.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { Section } from '../../../parts/section.tsx'
import css from '../compare.module.css'
import { filesQuery, maxFiles } from '../queries.ts'
import { type FileDifference, fileDifferences } from './file-differences.ts'

interface Props {
  readonly a: SessionSummary
  readonly b: SessionSummary
}

/** The files that differ at the end of both sessions. */
export function FinalFiles({ a, b }: Props) {
  const filesA = useQuery(filesQuery(a.id, a.status))
  const filesB = useQuery(filesQuery(b.id, b.status))
  const differences = useMemo(
    () => (filesA.data && filesB.data ? fileDifferences(filesA.data.files, filesB.data.files) : undefined),
    [filesA.data, filesB.data],
  )
  const failed = [filesA, filesB].find(({ error, data }) => error && !data)
  const isCut = filesA.data?.isCut || filesB.data?.isCut
  return (
    <Section title="Files at the end">
      {failed ? (
        <ProblemBlock error={failed.error} what="load the files" retry={() => void failed.refetch()} />
      ) : differences ? (
        <>
          {isCut && <p className="soft">Only the first {exactCount(maxFiles)} files are compared</p>}
          {differences.length === 0 && <p className="soft">No file differs</p>}
          {differences.map(difference => (
            <Difference key={difference.path} difference={difference} a={a.id} b={b.id} />
          ))}
        </>
      ) : (
        <Loading lines={3} />
      )}
    </Section>
  )
}

interface DifferenceProps {
  readonly difference: FileDifference
  readonly a: string
  readonly b: string
}

function Difference({ difference, a, b }: DifferenceProps) {
  const [isOpen, setOpen] = useState(false)
  const { path } = difference
  return (
    <div className={css.change}>
      <div className={css.line}>
        <span className="mono clip">
          <SafeText text={path} />
        </span>
        <span className="soft">{wordOf(difference)}</span>
        <Button
          className={css.aside}
          variant="subtle"
          size="compact-xs"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? 'Hide lines' : 'Show lines'}
        </Button>
      </div>
      {isOpen && <Lines difference={difference} a={a} b={b} />}
    </div>
  )
}

function wordOf({ a, b }: FileDifference): string {
  if (!a) return 'only in B'
  return b ? 'differs' : 'only in A'
}

function Lines({ difference: { path, a: fileA, b: fileB }, a, b }: DifferenceProps) {
  const { data, error } = useQuery({
    queryKey: ['compare', 'file-lines', a, b, path, fileA?.sha256, fileB?.sha256],
    queryFn: async () => Promise.all([contentOf(a, fileA), contentOf(b, fileB)]),
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (error) return <ProblemLine error={error} />
  if (!data) return <Loading lines={2} />
  const [before, after] = data
  if (!before.isText || !after.isText)
    return <p className="soft">Binary or larger than 1 MB; its lines are not compared</p>
  return <DiffView before={before.text} after={after.text} label={`Differences of ${path}`} />
}

async function contentOf(sessionId: string, file: WorkspaceFile | undefined): Promise<FileContent> {
  if (!file) return { isText: true, text: '' }
  if (file.type !== 'file') return { isText: true, text: file.target ?? '' }
  if ((file.size ?? 0) > maxShownBytes) return { isText: false }
  const response = await client.open(routes.file, { params: { session_id: sessionId, path: file.path } })
  return fileContentOf(await response.arrayBuffer())
}
