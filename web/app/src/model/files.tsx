// The models of a repository, to choose one from: what was found at an address that the reader typed.
import { useEffect, useRef } from 'preact/hooks';
import type { ModelFile } from '@sluice/engine';
import { bytes } from '../format';
import { openAddress } from '../page/link';
import { t } from '../texts';
import { anotherTexts } from './another-texts';
import { Found } from './found';
import { outlookOf } from './learn';
import { closeSheet } from './open';
import type { Look } from './probe';
import { hostOf, pageOf } from './source';
import { speedShort } from './speed';

export function AtRepository({ address, files, failure }: Look) {
  const words = anotherTexts.value;
  const heading = useRef<HTMLHeadingElement>(null);
  const came = files !== null || failure !== null;
  // The answer is below the field: it comes into sight, and is where the keyboard goes on.
  useEffect(() => {
    if (!came) return;
    heading.current?.focus({ preventScroll: true });
    heading.current?.closest('section')?.scrollIntoView({ block: 'nearest' });
  }, [came, address]);
  const denied = failure?.facts.status === 401 || failure?.facts.status === 403;
  const title = !came
    ? words.asking(hostOf(address))
    : denied
      ? words.account(hostOf(address))
      : failure !== null
        ? failure.title
        : files?.length === 0
          ? words.none
          : words.files(nameOf(address));
  return (
    <section class="found" aria-label={words.found}>
      {came ? (
        <h4 ref={heading} tabIndex={-1}>
          {title}
        </h4>
      ) : (
        <p class="note" role="status">
          {title}
        </p>
      )}
      {files?.length === 0 && <p class="note">{words.noneAdvice}</p>}
      {denied && <p class="note">{words.accountAdvice}</p>}
      {denied && (
        <a href={pageOf(address)} target="_blank" rel="noopener noreferrer">
          {t.value.model.notices.openPage}
        </a>
      )}
      {failure !== null && !denied && (
        <p class="note">
          <Found {...failure} />
          {failure.advice !== '' && ` ${failure.advice}`}
        </p>
      )}
      {files !== null && files.length > 0 && (
        <ul class="files">
          {[...files]
            .sort((a, b) => a.bytes - b.bytes)
            .map((file) => (
              <FileRow key={file.name} file={file} />
            ))}
        </ul>
      )}
    </section>
  );
}

function FileRow({ file }: { file: ModelFile }) {
  const { another, speed } = t.value.model;
  const words = anotherTexts.value;
  const outlook = outlookOf({ source: file.address, bytes: file.bytes });
  const name = file.type || file.name.split('/').at(-1) || file.name;
  const facts = [
    file.bytes > 0 ? bytes(file.bytes) : '',
    file.parts > 1 ? words.parts(file.parts) : '',
    outlook === null ? '' : outlook.fits ? speed.fits : speed.fitsPartly,
    speedShort(outlook?.speed ?? null),
  ].filter((fact) => fact !== '');
  const does = file.bytes > 0 ? another.download(bytes(file.bytes)) : words.load;
  return (
    <li class={outlook?.fits === false ? 'large' : ''}>
      <span class="about">
        <bdi class="type">{name}</bdi>
        <span class="note">{facts.join(', ')}</span>
        {file.type !== '' && <bdi class="note path">{file.name}</bdi>}
      </span>
      <button
        type="button"
        class="secondary"
        aria-label={`${does}: ${name}`}
        onClick={() => {
          if (openAddress(file.address)) closeSheet();
        }}
      >
        {does}
      </button>
    </li>
  );
}

/** owner/repo of an address that stands for a repository. */
function nameOf(address: string): string {
  return new URL(pageOf(address)).pathname.slice(1);
}
