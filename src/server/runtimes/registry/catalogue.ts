import type { ApiSpec } from '../../../contract/runtimes.ts'
import { listedTool, runtimeSpecs } from '../../config/runtime-specs.ts'
import { builtinTools, isEnabledByDefault, memoryTools } from '../../tools/toolset.ts'

/** An external runtime that is part of every server. */
export interface BuiltInRuntime {
  readonly id: string
  readonly spec: ApiSpec
  readonly name: string
  readonly defaultBase: string
  /** Provider that issues its credential. */
  readonly provider: { readonly id: string; readonly name: string }
}

/** Built-in external runtimes by id, in list order. Gaps: section 10. */
export const builtInRuntimes: ReadonlyMap<string, BuiltInRuntime> = new Map(
  (Object.keys(runtimeSpecs) as ApiSpec[]).flatMap(spec => {
    const { builtIn } = runtimeSpecs[spec]
    return builtIn ? [[spec, { id: spec, spec, ...builtIn }] as const] : []
  }),
)

/** The service's own runtime. It has no address and calls models with the credentials of their providers. */
export const ownRuntime = {
  name: 'Built-in',
  provider: { id: 'switchyard', name: 'Switchyard' },
  /** `canSearch`: a search provider is configured. */
  tools: ({ canSearch }: { readonly canSearch: boolean }) =>
    [...builtinTools, ...memoryTools].flatMap(({ name, description }) => {
      const tool = { ...listedTool(name, description), enabled_by_default: isEnabledByDefault(name) }
      return name === 'web_search' && !canSearch ? [] : [tool]
    }),
} as const
