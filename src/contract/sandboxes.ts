import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { Nullable } from './schemas.ts'

/** System of an agent's sandboxes. */
export const SandboxConfig = named(
  'SandboxConfig',
  Type.Object({
    image: Type.Optional(
      Nullable(
        Type.String({
          minLength: 1,
          maxLength: 255,
          description:
            'Image of the commands and programs, from `sandbox.image` and `sandbox.images` of the configuration; needs the driver `docker` or `kubernetes`',
        }),
      ),
    ),
    setup: Type.Optional(
      Nullable(
        Type.Array(Type.String({ minLength: 1, maxLength: 10_000 }), {
          maxItems: 50,
          description:
            'Shell commands that prepare the sandbox before the first run of a session; the result is cached. Together at most 10 minutes, with the network of `config.network`. Needs the driver `bubblewrap` or `docker`',
        }),
      ),
    ),
  }),
)
export type SandboxConfig = Static<typeof SandboxConfig>
