#!/usr/bin/env bash
# Measures the answers over the everyday documents in other formats: converts the Markdown and HTML documents with pandoc and LibreOffice (Debian: pandoc,
# libreoffice-writer-nogui, fonts-noto-cjk), and the CSV files for xlsx (libreoffice-calc-nogui), keeps their names, so that the questions stay the same, and runs sluice eval.
# Usage: scripts/formats.sh docx|odt|epub|rtf|pdf|xlsx [tuning|held-out]
set -euo pipefail
cd "$(dirname "$0")/.."
format=$1 part=${2:-held-out}
case $format in
docx | odt | epub | rtf | pdf | xlsx) ;;
*)
	echo "unknown format: $format" >&2
	exit 2
	;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r eval/testdata/everyday "$work/sets"
rm -f "$work"/sets/*.md # the description
office() { # converts the files of the folder $work/in into $work/out
	soffice "-env:UserInstallation=file://$work/profile" --headless "${@:2}" --convert-to "$1" --outdir "$work/out" "$work"/in/* >/dev/null 2>&1
}
for documents in "$work"/sets/*/documents; do
	rm -rf "$work/in" "$work/out"
	mkdir "$work/in" "$work/out"
	for file in "$documents"/*; do
		name=$(basename "$file")
		case $name in
		*.csv)
			if [ "$format" = xlsx ]; then
				separator=44
				if head -1 "$file" | grep -q ';'; then separator=59; fi
				cp "$file" "$work/in/"
				office xlsx "--infilter=CSV:$separator,34,76,1"
				rm "$work"/in/*
			fi
			;;
		*.md | *.html)
			from=html
			if [ "${name##*.}" = md ]; then from=gfm; fi
			case $format in
			docx | odt | epub) pandoc -f "$from" -s "$file" --metadata "title=${name%.*}" -o "$work/out/$name.$format" ;;
			pdf | rtf) pandoc -f "$from" -s "$file" --metadata "title=${name%.*}" -o "$work/in/$name.docx" ;;
			esac
			;;
		esac
	done
	if ls "$work"/in/* >/dev/null 2>&1; then office "$format"; fi
	expected=$(find "$documents" -name '*.md' -o -name '*.html' | wc -l)
	if [ "$format" = xlsx ]; then expected=$(find "$documents" -name '*.csv' | wc -l); fi
	if [ "$(find "$work/out" -type f | wc -l)" != "$expected" ]; then
		echo "not all documents of $documents could be converted" >&2
		exit 1
	fi
	for file in "$documents"/*; do
		name=$(basename "$file")
		for converted in "$work/out/$name.$format" "$work/out/${name%.*}.$format"; do
			if [ -e "$converted" ]; then mv "$converted" "$file"; fi # the bytes tell the format
		done
	done
done
${SLUICE:-go run ./cmd/sluice} eval "$work/sets" --what answers --mode direct --top-k 5 --part "$part" "${@:3}"
